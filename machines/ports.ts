import { fromPromise, type PromiseActorLogic } from "xstate";

/** Something a machine needs from the outside: an async function that honours `signal`. */
export type Port<In, Out> = (input: In, signal: AbortSignal) => Promise<Out>;

type AnyPorts = Record<string, Port<never, unknown>>;
type ActorsOf<Ports extends AnyPorts> = {
  [Name in keyof Ports]: Ports[Name] extends Port<infer In, infer Out> ? PromiseActorLogic<Out, In> : never;
};

/** Declares the ports of a chart. Starting one before `bind` supplied it is a wiring bug. */
export function declare<Ports extends AnyPorts>(...names: (keyof Ports & string)[]): ActorsOf<Ports> {
  return Object.fromEntries(
    names.map((name) => [
      name,
      fromPromise(async () => {
        throw new TypeError(`port "${name}" was started but never bound`);
      }),
    ]),
  ) as unknown as ActorsOf<Ports>;
}

/** Turns plain functions into the actors a chart invokes. XState's actor types are invariant; the casts pay for that once. */
export function bind<Ports extends AnyPorts>(ports: Ports): ActorsOf<Ports> {
  return Object.fromEntries(
    Object.entries(ports).map(([name, port]) => [
      name,
      fromPromise(({ input, signal }) => port(input as never, signal)),
    ]),
  ) as unknown as ActorsOf<Ports>;
}
