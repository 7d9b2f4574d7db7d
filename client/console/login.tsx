import { demoUsers, rememberUser } from "./demo.ts";
import { Avatar } from "./who.tsx";

/** Shown without a login: the demo's users, or where to go instead. */
export function Login({ demo }: { readonly demo: boolean }) {
  return (
    <main class="door">
      <div class="panel">
        <img class="logo" src={new URL("./icon.svg", import.meta.url).href} alt="" width="44" height="44" />
        <h1>Assist</h1>
        {demo ? (
          <>
            <p>Choose a demo provider. Patients, products and names are fictional.</p>
            <ul class="login-list">
              {demoUsers.map(({ id, name, about }) => (
                <li key={id}>
                  <a
                    class="login-user"
                    data-testid={`login-${id}`}
                    href={`/login?user=${id}${location.hash}`}
                    onClick={() => rememberUser(id)}
                  >
                    <Avatar name={name} />
                    <span>
                      <strong>{name}</strong>
                      <span class="muted">{about}</span>
                    </span>
                  </a>
                </li>
              ))}
            </ul>
          </>
        ) : (
          <>
            <p>You are not logged in. Log in on your platform, then come back to this page.</p>
            <button type="button" class="primary" onClick={() => location.reload()}>
              I have logged in
            </button>
          </>
        )}
      </div>
    </main>
  );
}
