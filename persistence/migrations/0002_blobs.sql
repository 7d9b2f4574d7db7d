-- Uploads of a session. Their bytes lie sealed in the blob store under `<session>/<blob>`.

create table blobs (
  session_id uuid not null references sessions on delete cascade,
  blob_id    uuid not null,
  mime       text not null,
  bytes      integer not null check (bytes > 0),
  -- What a model is charged for it, estimated from the bytes when they came.
  tokens     integer not null check (tokens >= 0),
  -- `attached`: a message names it, so it stays as long as the session does.
  state      text not null check (state in ('storing', 'stored', 'attached')),
  created_at timestamptz not null default now(),
  primary key (session_id, blob_id)
);
create index blobs_unattached on blobs (created_at) where state <> 'attached';

-- Bytes whose rows are gone: a session, or one blob of one. Outlives the session, so that bytes which could not be
-- removed at once are removed later.
create table blob_leftovers (
  key     text primary key,
  removed boolean not null default false,
  since   timestamptz not null default now()
);
