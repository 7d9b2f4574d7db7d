-- What waits for a person, and what people did with the buttons of cards. `body`, `resolution` and `actions.answer` are
-- sealed.

create table interactions (
  session_id     uuid not null references sessions on delete cascade,
  interaction_id uuid not null,
  -- The turn that asked.
  turn_id        uuid not null,
  call_id        text not null,
  revision       integer not null check (revision > 0),
  kind           text not null,
  -- The session row decides whether one is open: `open` here is only true of the one it names.
  status         text not null check (status in ('open', 'answered', 'accepted', 'dismissed', 'superseded', 'expired')),
  expires_at     timestamptz,
  -- The command of the person who resolved it, and the turn that runs because of it.
  decided_by     uuid,
  decided_turn   uuid,
  body           bytea not null,
  resolution     bytea,
  created_at     timestamptz not null default now(),
  primary key (session_id, interaction_id)
);

create table actions (
  session_id uuid not null references sessions on delete cascade,
  command_id uuid not null,
  ordinal    bigint generated always as identity,
  -- The turn that holds the card.
  turn_id    uuid not null,
  digest     bytea not null,
  -- HMAC of card, item and plan: the same thing is not done twice, and no id of a plan lies here.
  what       bytea not null,
  state      text not null check (state in ('intended', 'done', 'failed')),
  -- A turn has told the model.
  recorded   boolean not null default false,
  body       bytea not null,
  answer     bytea,
  created_at timestamptz not null default now(),
  primary key (session_id, command_id)
);
create unique index actions_once on actions (session_id, what) where state <> 'failed';
create index actions_of_turn on actions (session_id, turn_id);
create index actions_untold on actions (session_id, ordinal) where not recorded;

alter table sessions
  add column open_interaction uuid,
  add column open_revision integer,
  add column open_until timestamptz,
  add column unrecorded_actions integer not null default 0 check (unrecorded_actions >= 0),
  add constraint sessions_open check (
    (open_interaction is null) = (open_revision is null) and (open_until is null or open_interaction is not null));
create index sessions_with_deadline on sessions (open_until) where open_until is not null;
