import { type Store, StoreUnavailable } from "../../../persistence/store.ts";

type Method = (...input: readonly unknown[]) => Promise<unknown>;

/** A promise and what resolves it. */
export function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}

/** `store` with one method replaced; `real` is the method as it was. */
export function replacing(store: Store, path: `${keyof Store}.${string}`, make: (real: Method) => Method): Store {
  const [part, name] = path.split(".") as [keyof Store, string];
  const methods = store[part] as unknown as Record<string, Method>;
  const real = methods[name];
  if (real === undefined) throw new TypeError(`the store has no ${path}`);
  return { ...store, [part]: { ...methods, [name]: make(real.bind(methods)) } };
}

/** Holds the next call of one method: the statement (`before`) or its answer (`after`) waits for `go`. */
export function holding(store: Store, path: `${keyof Store}.${string}`, when: "before" | "after") {
  const arrived = gate();
  const released = gate();
  let isArmed = false;
  const held = replacing(store, path, (real) => async (...input) => {
    if (!isArmed) return await real(...input);
    isArmed = false;
    const answer = when === "after" ? await real(...input) : undefined;
    arrived.open();
    await released.opened;
    return when === "after" ? answer : await real(...input);
  });
  const arm = () => {
    isArmed = true;
  };
  return { store: held, arm, arrived: arrived.opened, go: released.open };
}

/** The next call of one method is carried out, but its answer is lost. */
export function losing(store: Store, path: `${keyof Store}.${string}`) {
  let isArmed = false;
  const lossy = replacing(store, path, (real) => async (...input) => {
    const answer = await real(...input);
    if (!isArmed) return answer;
    isArmed = false;
    throw new StoreUnavailable(new Error("the answer was lost"));
  });
  const arm = () => {
    isArmed = true;
  };
  return { store: lossy, arm };
}

/** `store` with every call told to `tick`: before its statement leaves and after its answer came. */
export function ticking(store: Store, tick: (what: string) => void): Store {
  const parts = Object.entries(store).map(([part, methods]) => {
    const told = Object.entries(methods as unknown as Record<string, Method>).map(([name, method]) => [
      name,
      async (...input: readonly unknown[]) => {
        tick(`${part}.${name}`);
        try {
          return await method.call(methods, ...input);
        } finally {
          tick(`${part}.${name} answered`);
        }
      },
    ]);
    return [part, Object.fromEntries(told)];
  });
  return Object.fromEntries(parts) as Store;
}
