-- Checks on the columns' types: the server reads a table's checks anew for every statement that writes it, also those of
-- columns that it leaves alone. What the columns allow is as before, but for `inbox_grant`.
--
-- Writes `sessions` and `inbox` anew, with their indexes: nobody reads or writes either meanwhile (some ten seconds
-- for each million rows), and the disk holds both twice until it is done.

create domain session_status as text check (value in ('resting', 'turning', 'awaiting', 'hibernated'));
create domain command_kind as text check (value in ('message', 'resolve', 'cancel'));
create domain command_state as text check (value in ('waiting', 'running', 'cancelled', 'withdrawn', 'settled'));
create domain counter as integer check (value >= 0);
alter table sessions
  drop constraint sessions_status_check,
  drop constraint sessions_unsettled_check,
  drop constraint sessions_unrecorded_actions_check,
  alter column status type session_status,
  alter column unsettled type counter,
  alter column unrecorded_actions type counter;

-- A turn that has ended has no command any more, so it has no grant: the state need not be read as well.
drop index inbox_open;
alter table inbox
  drop constraint inbox_kind_check,
  drop constraint inbox_state_check,
  drop constraint inbox_grant,
  alter column kind type command_kind,
  alter column state type command_state,
  add constraint inbox_grant check (
    (grant_body is null) = (grant_expires_at is null) and (grant_body is null or body is not null));
create unique index inbox_open on inbox (session_id, turn_id) where state in ('waiting', 'running', 'cancelled');

-- A column's statistics go with its type. Not of an empty table: one that is known to be empty is read whole, and the plans
-- of a new database would stay so while it fills.
do $$ begin
  if exists (select from sessions) then analyze sessions; end if;
  if exists (select from inbox) then analyze inbox; end if;
end $$;
