/** A child lives no longer than the bench that started it. */
export function endWith(close: () => Promise<void>): void {
  const end = () => void close().then(() => process.exit(0));
  process.once("SIGTERM", end).once("SIGINT", end).once("disconnect", end);
}
