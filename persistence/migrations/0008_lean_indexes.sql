-- A write touches no index (it stays on its page) only where no index has a column that it changes, be it as a key or in
-- its condition. So none of `sessions` has one that a turn changes, unless it asks something with an end. And no other
-- index than the right one fits a fence or a command.

drop index sessions_of_owner;
create index sessions_of_owner on sessions (owner);
-- Work that waits is found by `inbox_open`.
drop index sessions_with_work;
-- Held sessions are looked for once, by a node that starts: it reads the table.
drop index sessions_held;
alter table sessions set (fillfactor = 70);

-- A turn is looked for while it is open; `blocks` keeps two turns from having settled under one id. The price: a turn that
-- opens or settles changes `state`, so both write their inbox row's indexes anew.
alter table inbox drop constraint inbox_session_id_turn_id_key;
drop index inbox_open;
create unique index inbox_open on inbox (session_id, turn_id) where state in ('waiting', 'running', 'cancelled');
