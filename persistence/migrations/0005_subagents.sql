-- Work that runs in a worker for a call of a turn, and what research found. `request`, `result` and `body` are sealed.

create table subagents (
  session_id uuid not null references sessions on delete cascade,
  turn_id    uuid not null,
  call_id    text not null,
  kind       text not null check (kind in ('research', 'plan_builder')),
  state      text not null default 'waiting' check (state in ('waiting', 'running', 'finished', 'failed', 'cancelled')),
  -- The attempt that may end it; 0 until a worker has claimed it.
  attempt    integer not null default 0 check (attempt between 0 and 2),
  code       text,
  deadline   timestamptz not null,
  request    bytea not null,
  result     bytea,
  created_at timestamptz not null default now(),
  ended_at   timestamptz,
  primary key (session_id, turn_id, call_id),
  constraint subagents_end check (
    (result is not null) = (state = 'finished') and (code is not null) = (state in ('failed', 'cancelled')) and
    (ended_at is not null) = (state in ('finished', 'failed', 'cancelled')))
);

create table bundles (
  session_id uuid not null references sessions on delete cascade,
  bundle_id  uuid not null,
  turn_id    uuid not null,
  call_id    text not null,
  body       bytea not null,
  created_at timestamptz not null default now(),
  primary key (session_id, bundle_id)
);

alter table model_calls add column call_id text not null default '';
alter table model_calls drop constraint model_calls_purpose_check;
alter table model_calls add constraint model_calls_purpose_check check (purpose in ('turn', 'summary', 'subagent'));
alter table model_calls drop constraint model_calls_pkey;
alter table model_calls add primary key (session_id, turn_id, purpose, call_id, step, attempt);
