import type { Store } from "../../../persistence/store.ts";
import type { Gate } from "./gate.ts";

type Methods = Record<string, (...input: never[]) => Promise<unknown>>;

/** A node's view of the store: each call waits at the gate. Heartbeats and telemetry pass unseen. */
export function heldStore(store: Store, gate: Gate, owner: string): Store {
  const held = <T extends object>(part: string, repository: T): T => {
    const methods = repository as unknown as Methods;
    const wrapped = Object.entries(methods).map(([name, method]) => [
      name,
      (...input: never[]) => gate.hold(owner, `${part}.${name}`, () => method(...input), { isStatement: true }),
    ]);
    return Object.fromEntries(wrapped) as T;
  };
  return {
    ...store,
    sessions: held("sessions", store.sessions),
    inbox: held("inbox", store.inbox),
    histories: held("histories", store.histories),
    turns: held("turns", store.turns),
    interactions: held("interactions", store.interactions),
    actions: held("actions", store.actions),
    grants: { ...held("grants", store.grants), sweep: async () => 0 },
    blobs: { ...store.blobs, sweep: async () => 0 },
    nodes: { ...store.nodes, beat: async () => {}, others: async () => [] },
    calls: { record: async () => {} },
  };
}
