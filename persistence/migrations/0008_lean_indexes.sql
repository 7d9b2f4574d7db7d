-- A turn changes its session's row and its inbox row a few times: no index holds what changes there, so that most of
-- these writes touch none (they stay on their page), and no other index than the right one fits a fence or a command.

drop index sessions_of_owner;
create index sessions_of_owner on sessions (owner);
-- Work that waits is found by `inbox_open`.
drop index sessions_with_work;
-- By id, not by node: a fence names both, and a node holds thousands.
drop index sessions_held;
create index sessions_held on sessions (id) where node is not null;
alter table sessions set (fillfactor = 70);

-- A turn is looked for while it is open; `blocks` keeps two turns from having settled under one id.
alter table inbox drop constraint inbox_session_id_turn_id_key;
drop index inbox_open;
create unique index inbox_open on inbox (session_id, turn_id) where state in ('waiting', 'running', 'cancelled');
