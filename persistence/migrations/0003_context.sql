-- What keeps a context small: drafts of summaries, tool results too long for a request, and what their calls cost.

create table summaries (
  session_id uuid not null references sessions on delete cascade,
  -- The draft holds while the session's anchor is still here; it stands for the entries before `until_pos`.
  anchor     integer not null,
  until_pos  integer not null,
  body       bytea not null,
  created_at timestamptz not null default now(),
  primary key (session_id, anchor)
);

create table results (
  session_id uuid not null references sessions on delete cascade,
  call_id    text not null,
  turn_id    uuid not null,
  characters integer not null,
  body       bytea not null,
  created_at timestamptz not null default now(),
  primary key (session_id, call_id)
);

alter table model_calls add column purpose text not null default 'turn' check (purpose in ('turn', 'summary'));
alter table model_calls drop constraint model_calls_pkey;
alter table model_calls add primary key (session_id, turn_id, purpose, step, attempt);
