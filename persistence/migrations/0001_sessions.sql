-- Columns named title, snapshot, body and data_key are sealed; every other column is readable and never holds a
-- user's text. Each table hangs on sessions, so that deleting a session takes its rows and its key along.

create table sessions (
  id           uuid primary key,
  owner        text not null,
  agent        text not null,
  status       text not null default 'resting' check (status in ('resting', 'turning', 'awaiting', 'hibernated')),
  title        bytea,
  machine      text,
  version      integer,
  snapshot     bytea,
  -- Signal numbers: exact while `slept_epoch = epoch` (asleep in order), else everything up to the reservation is spent.
  next_seq     bigint not null default 1,
  seq_reserved bigint not null default 0,
  slept_epoch  bigint not null default 0,
  anchor       integer not null default 0,
  turns        integer not null default 0,
  -- Decided on the locked row, never by counting inbox rows: a sub-select would see the state before a lock wait.
  next_ordinal integer not null default 1,
  unsettled    integer not null default 0 check (unsettled >= 0),
  node         uuid,
  epoch        bigint not null default 0,
  until        timestamptz,
  data_key     bytea not null,
  created_at   timestamptz not null default now(),
  updated_at   timestamptz not null default now()
);
create index sessions_of_owner on sessions (owner, updated_at desc);
create index sessions_with_work on sessions (updated_at) where unsettled > 0;
create index sessions_held on sessions (node) where node is not null;

create table inbox (
  session_id uuid not null references sessions on delete cascade,
  command_id uuid not null,
  kind       text not null check (kind in ('message', 'resolve', 'cancel')),
  -- A cancel has neither.
  ordinal    integer,
  turn_id    uuid,
  digest     bytea not null,
  state      text not null check (state in ('waiting', 'running', 'cancelled', 'withdrawn', 'settled')),
  -- {"outcome": …} of a settled turn, {"cancelled": [turn ids]} of a cancel.
  answer     jsonb,
  takeovers  integer not null default 0,
  body       bytea,
  created_at timestamptz not null default now(),
  primary key (session_id, command_id),
  unique (session_id, turn_id)
);
create index inbox_open on inbox (session_id, ordinal) where state in ('waiting', 'running', 'cancelled');

create table entries (
  session_id uuid not null references sessions on delete cascade,
  -- Of the first entry in the row; `count` entries follow each other without a gap.
  pos        integer not null,
  count      integer not null check (count > 0),
  turn_id    uuid not null,
  kind       text not null,
  tokens     integer not null,
  epoch      bigint not null,
  -- HMAC of the whole batch: tells a repeated write from another one.
  digest     bytea not null,
  body       bytea not null,
  primary key (session_id, pos)
);

create table blocks (
  session_id uuid not null references sessions on delete cascade,
  turn_id    uuid not null,
  n          integer not null,
  epoch      bigint not null,
  digest     bytea not null,
  body       bytea not null,
  primary key (session_id, turn_id),
  unique (session_id, n)
);

create table tool_calls (
  session_id uuid not null references sessions on delete cascade,
  turn_id    uuid not null,
  call_id    text not null,
  ordinal    bigint generated always as identity,
  name       text not null,
  read_only  boolean not null,
  repeatable boolean not null,
  key        text not null,
  state      text not null check (state in ('intended', 'finished')),
  primary key (session_id, turn_id, call_id)
);

create table grants (
  session_id uuid not null references sessions on delete cascade,
  turn_id    uuid not null,
  expires_at timestamptz not null,
  body       bytea not null,
  primary key (session_id, turn_id)
);
create index grants_expiry on grants (expires_at);

create table model_calls (
  session_id uuid not null references sessions on delete cascade,
  turn_id    uuid not null,
  step       integer not null,
  attempt    integer not null,
  profile    text not null,
  issuer     text not null,
  outcome    text not null,
  input      integer not null check (input >= 0),
  output     integer not null check (output >= 0),
  thinking   integer not null check (thinking >= 0),
  cached     integer not null check (cached >= 0),
  ms         integer not null check (ms >= 0),
  projector  integer not null,
  at         timestamptz not null default now(),
  primary key (session_id, turn_id, step, attempt)
);

create table nodes (
  id      uuid primary key,
  started timestamptz not null default now(),
  heard   timestamptz not null default now()
);
