import { never } from "../machines/failure.ts";
import type { Figure, Report, Unit } from "./harness.ts";

/** A report as lines for a terminal. */
export function render({ figures, facts }: Report): readonly string[] {
  const head = ["", "p50", "p95", "p99", "n", "beside", "ratio", "budget"];
  const rows = figures.map(cells);
  const table = figures.length === 0 ? [] : aligned([head, ...rows]);
  return [...table, ...facts.map(({ what, value }) => `${what}: ${value}`)];
}

function cells({ what, unit, stats, limit }: Figure): readonly string[] {
  const { p50, p95, p99, count } = stats;
  const measured = [what, amount(p50, unit), amount(p95, unit), amount(p99, unit), String(count)];
  if (limit === undefined) return [...measured, "", "", ""];
  const { budget, within } = limit;
  const verdict = budget === undefined ? "" : `${budget}× ${within ? "PASS" : "over"}`;
  const beside =
    "p95" in limit ? `p95 ${limit.what} ${amount(limit.p95, unit)}` : `${limit.what} ${amount(limit.p50, unit)}`;
  return [...measured, beside, `${limit.ratio.toFixed(2)}×`, verdict];
}

export function amount(value: number, unit: Unit): string {
  switch (unit) {
    case "ms":
      return `${value.toFixed(2)} ms`;
    case "bytes":
      return Math.abs(value) < 1024 ? `${Math.round(value)} B` : `${(value / 1024).toFixed(1)} KiB`;
    default:
      return never(unit);
  }
}

/** Words to the left, numbers to the right. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const columns = rows[0]?.length ?? 0;
  const widths = Array.from({ length: columns }, (_, at) => Math.max(...rows.map((row) => (row[at] ?? "").length)));
  const words = new Set([0, 5, 7]);
  return rows.map((row) =>
    row
      .map((cell, at) => (words.has(at) ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
