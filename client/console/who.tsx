import { chosenUser, demoUsers, rememberUser } from "./demo.ts";

/** Who is logged in, as far as the page can know, and the way to another demo user. */
export function Who() {
  const user = chosenUser();
  return (
    <div class="who">
      <Avatar name={user?.name ?? "Dr. ·"} />
      <span class="who-name">{user?.name ?? "Logged in"}</span>
      {user && (
        <details class="switch">
          <summary>Switch</summary>
          <ul>
            {demoUsers
              .filter(({ id }) => id !== user.id)
              .map(({ id, name }) => (
                <li key={id}>
                  <a href={`/login?user=${id}`} onClick={() => rememberUser(id)}>
                    {name}
                  </a>
                </li>
              ))}
          </ul>
        </details>
      )}
    </div>
  );
}

export function Avatar({ name }: { readonly name: string }) {
  return (
    <span class="avatar" aria-hidden="true">
      {name.replace(/^Dr\.\s*/, "").slice(0, 1)}
    </span>
  );
}
