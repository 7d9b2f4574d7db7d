import type { NumberedKind, NumberedSignal, SignalData } from "../../machines/protocol/signals.ts";
import type { Block, Turn } from "../../machines/protocol/turns.ts";
import { numbered, TURN, uuid } from "./signals.ts";

/** One random move of a server that writes a turn. `block` picks among the blocks that fit. */
export type Move =
  | { readonly kind: "start"; readonly type: "text" | "thinking" | "recommend_lifestyle" }
  | { readonly kind: "write"; readonly block: number; readonly text: string }
  | { readonly kind: "reset"; readonly block: number }
  | { readonly kind: "restart"; readonly block: number }
  | { readonly kind: "finish"; readonly block: number };

type Held = Block & { phase: "open" | "finished" | "void" };

/** What a server streams for `moves`, what it stores in the end, and what it held after each frame. */
export type Written = {
  readonly frames: readonly NumberedSignal[];
  readonly stored: readonly Block[];
  readonly heldAfter: readonly Turn[];
};

export function writeTurn(moves: readonly Move[]): Written {
  const blocks: Held[] = [];
  const frames: NumberedSignal[] = [];
  const heldAfter: Turn[] = [];
  const input = { text: "hello" };

  const turn = (outcome?: "completed"): Turn => ({
    turn_id: TURN,
    n: 1,
    cause: "message",
    input,
    ...(outcome && { outcome }),
    blocks: structuredClone(blocks.filter((block) => block.phase !== "void").map(({ phase: _, ...block }) => block)),
  });
  function emit<K extends NumberedKind>(kind: K, data: SignalData<K>): void {
    frames.push(numbered(kind, frames.length + 1, data, { turn_id: TURN }));
    heldAfter.push(turn(kind === "turn_completed" ? "completed" : undefined));
  }
  const pick = (n: number, ...phases: Held["phase"][]): Held | undefined => {
    const fitting = blocks.filter((block) => phases.includes(block.phase));
    return fitting[n % Math.max(1, fitting.length)];
  };
  const started = ({ block_id, idx, type, attempt }: Held) => emit("block_started", { block_id, idx, type, attempt });
  function finish(block: Held): void {
    block.phase = "finished";
    if (block.type !== "recommend_lifestyle") block.content = { text: block.content["text"] ?? "" };
    const { phase: _, ...data } = block;
    emit("block_finished", structuredClone(data));
  }
  function write(block: Held, text: string): void {
    if (block.type === "recommend_lifestyle") {
      const recommendations = [{ title: text, detail: text }];
      block.content = { recommendations };
      emit("recommend_lifestyle", { block_id: block.block_id, recommendations });
      return;
    }
    const held = String(block.content["text"] ?? "");
    block.content = { text: held + text };
    const kind = block.type === "text" ? "llm_delta" : "thinking_summary";
    emit(kind, { block_id: block.block_id, offset: held.length, text });
  }

  emit("turn_started", { turn_id: TURN, n: 1, cause: "message", input });
  for (const move of moves) {
    if (move.kind === "start") {
      const idx = blocks.length;
      const block: Held = { block_id: uuid(100 + idx), idx, type: move.type, content: {}, attempt: 1, phase: "open" };
      blocks.push(block);
      started(block);
    } else if (move.kind === "write") {
      const block = pick(move.block, "open");
      if (block) write(block, move.text);
    } else if (move.kind === "reset") {
      const block = pick(move.block, "open", "finished");
      if (!block) continue;
      block.phase = "void";
      block.content = {};
      emit("block_reset", { block_id: block.block_id, attempt: block.attempt, reason: "failover" });
    } else if (move.kind === "restart") {
      const block = pick(move.block, "void");
      if (!block) continue;
      block.phase = "open";
      block.attempt += 1;
      started(block);
    } else {
      const block = pick(move.block, "open");
      if (block) finish(block);
    }
  }
  for (const block of blocks) if (block.phase === "open") finish(block);
  const usage = { input: 1, output: 1, thinking: 0, cached: 0 };
  emit("turn_completed", { turn_id: TURN, outcome: "completed", usage, ms: 5, steps: 1 });
  return { frames, stored: turn().blocks, heldAfter };
}

/** Merges neighbouring deltas of one block wherever `where` says so, as the server does for a slow socket. */
export function merge(frames: readonly NumberedSignal[], where: (seq: number) => boolean): NumberedSignal[] {
  const merged: NumberedSignal[] = [];
  for (const frame of frames) {
    const last = merged.at(-1);
    const fits =
      last !== undefined &&
      (frame.kind === "llm_delta" || frame.kind === "thinking_summary") &&
      last.kind === frame.kind &&
      last.data.block_id === frame.data.block_id &&
      where(frame.seq);
    if (!fits) merged.push(frame);
    else
      merged[merged.length - 1] = {
        ...frame,
        from_seq: last.from_seq ?? last.seq,
        data: { ...frame.data, offset: last.data.offset, text: last.data.text + frame.data.text },
      } as NumberedSignal;
  }
  return merged;
}
