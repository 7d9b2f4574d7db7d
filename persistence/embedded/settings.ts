/**
 * Settings of every server we start. Statements and values must never reach its log: an ERROR line quotes values, a
 * crash's DETAIL quotes the statement, hence LOG and above only, and terse.
 */
export const SERVER_SETTINGS = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  log_destination: "stderr",
  logging_collector: "off",
  log_min_messages: "log",
  log_min_error_statement: "panic",
  log_error_verbosity: "terse",
  log_statement: "none",
  log_duration: "off",
  log_min_duration_statement: "-1",
  log_lock_waits: "off",
  log_parameter_max_length: "0",
  log_parameter_max_length_on_error: "0",
  log_checkpoints: "off",
} as const;

/** Tests lose nothing by a power cut. */
export const TEST_SETTINGS = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "300",
  shared_buffers: "64MB",
  // Nobody replicates a test server.
  wal_level: "minimal",
  max_wal_senders: "0",
} as const;

export type Settings = Readonly<Record<string, string>>;

export function asFlags(settings: Settings): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}
