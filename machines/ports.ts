import { type AnyActorRef, fromPromise, type PromiseActorLogic } from "xstate";

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

type ActorSystem = AnyActorRef["system"];

/**
 * The ports of one chart that is built once and runs many times: each run is an actor system of its own and has ports of
 * its own. Building a chart anew for every run costs more than running a turn on it.
 */
export class PortsBySystem<Ports extends AnyPorts> {
  readonly #ports = new WeakMap<ActorSystem, Ports>();

  /** The actors to provide the chart with. */
  bind(...names: (keyof Ports & string)[]): ActorsOf<Ports> {
    return Object.fromEntries(
      names.map((name) => [
        name,
        fromPromise(
          ({ input, signal, system }) => this.#of(system)[name]?.(input as never, signal) as Promise<unknown>,
        ),
      ]),
    ) as unknown as ActorsOf<Ports>;
  }

  /** Before the actor starts. */
  give({ system }: Pick<AnyActorRef, "system">, ports: Ports): void {
    this.#ports.set(system, ports);
  }

  #of(system: ActorSystem): Ports {
    const ports = this.#ports.get(system);
    if (ports === undefined) throw new TypeError("a chart was started before it was given its ports");
    return ports;
  }
}
