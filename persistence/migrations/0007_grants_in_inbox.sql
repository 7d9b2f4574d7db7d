-- A turn's grant lies in its inbox row: one row less to write when a command is admitted, none to remove when it settles.
-- `grant_body` is sealed. A turn that has ended has none.

alter table inbox add column grant_body bytea, add column grant_expires_at timestamptz;

update inbox set grant_body = g.body, grant_expires_at = g.expires_at
from grants g
where inbox.session_id = g.session_id and inbox.turn_id = g.turn_id and inbox.state in ('waiting', 'running', 'cancelled');

drop table grants;

alter table inbox add constraint inbox_grant check (
  (grant_body is null) = (grant_expires_at is null) and
  (grant_body is null or state in ('waiting', 'running', 'cancelled')));
