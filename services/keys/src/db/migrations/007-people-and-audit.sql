-- People who have signed in, the members of projects, the keys of administrators, and the audit log.

create table keys.users (
  -- Ids begin with the time, so their order is that of the first sign-ins.
  id text collate "C" primary key check (id ~ '^user-[0-9A-Za-z]{24}$'),
  issuer text not null,
  subject text not null,
  -- By the claims of the last token.
  email text,
  name text,
  role text check (role in ('reader', 'owner')),
  groups text[] not null default '{}',
  added_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  -- An administrator removed the person; the next sign-in brings the row back.
  removed_at timestamptz,
  unique (issuer, subject)
);

create index users_by_email on keys.users (lower(email));
create index users_by_group on keys.users using gin (groups);

-- The groups that tokens or administrators have named.
create table keys.groups (
  -- A hash of the name, so that every process and every day gives a group the same id.
  id text collate "C" primary key check (id ~ '^group_[0-9a-f]{32}$'),
  name text not null unique,
  created_at timestamptz not null default now()
);

create table keys.project_users (
  account text not null references keys.accounts (tag),
  user_id text collate "C" not null references keys.users (id),
  role text not null check (role in ('member', 'owner')),
  added_at timestamptz not null default now(),
  primary key (account, user_id)
);

create index project_users_by_user on keys.project_users (user_id);

create table keys.project_groups (
  account text not null references keys.accounts (tag),
  group_id text collate "C" not null references keys.groups (id),
  role text not null check (role in ('member', 'owner')),
  added_at timestamptz not null default now(),
  primary key (account, group_id)
);

create index project_groups_by_group on keys.project_groups (group_id);

create table keys.admin_keys (
  key_id text primary key check (key_id ~ '^[0-9A-Za-z]{8}$'),
  -- SHA-256 of the whole key, which nobody keeps.
  hash bytea not null unique check (octet_length(hash) = 32),
  name text not null,
  -- The administrator who created it, as the audit log names one.
  created_by text not null,
  created_by_name text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz
);

create index admin_keys_by_age on keys.admin_keys (created_at, key_id);

-- One row for each change. Columns behind `hash` only repeat the entry, for the filters.
create table keys.audit_log (
  seq bigint primary key,
  at_ms bigint not null,
  -- JSON, as it was hashed.
  entry text not null,
  -- The hash of the row before.
  previous bytea not null check (octet_length(previous) = 32),
  -- SHA-256 of `previous`, `seq`, `at_ms` and `entry`.
  hash bytea not null check (octet_length(hash) = 32),
  type text not null generated always as (entry::jsonb ->> 'type') stored,
  project text generated always as (entry::jsonb ->> 'project') stored,
  actors text[] not null generated always as (
    array_remove(array[entry::jsonb #>> '{actor,id}', entry::jsonb #>> '{actor,userId}'], null)
  ) stored,
  actor_email text generated always as (lower(entry::jsonb #>> '{actor,email}')) stored,
  resources text[] not null generated always as (array_remove(array[
    entry::jsonb #>> '{details,id}',
    entry::jsonb #>> '{details,principal_id}',
    entry::jsonb #>> '{details,resource_id}'
  ], null)) stored
);

create index audit_log_by_type on keys.audit_log (type, seq);
create index audit_log_by_project on keys.audit_log (project, seq) where project is not null;
create index audit_log_by_actor on keys.audit_log using gin (actors);
create index audit_log_by_email on keys.audit_log (actor_email, seq) where actor_email is not null;
create index audit_log_by_resource on keys.audit_log using gin (resources);
create index audit_log_by_time on keys.audit_log (at_ms, seq);

-- The end of the chain. Each writer locks this one row as the last statement of its transaction.
create table keys.audit_head (
  is_only boolean primary key default true check (is_only),
  seq bigint not null default 0,
  at_ms bigint not null default 0,
  hash bytea not null default decode(repeat('00', 32), 'hex') check (octet_length(hash) = 32),
  -- The last row that retention has removed: the chain begins behind it.
  anchor_seq bigint not null default 0,
  anchor_hash bytea not null default decode(repeat('00', 32), 'hex') check (octet_length(anchor_hash) = 32)
);
insert into keys.audit_head default values;

create function keys.append_to_audit_log(entries text[]) returns void language plpgsql as $$
declare
  head keys.audit_head%rowtype;
  next_entry text;
  before bytea;
begin
  select * into strict head from keys.audit_head for update;
  -- The clock may step back; the log's time never does.
  head.at_ms := greatest(head.at_ms, floor(extract(epoch from clock_timestamp()) * 1000)::bigint);
  foreach next_entry in array entries loop
    before := head.hash;
    head.seq := head.seq + 1;
    head.hash := sha256(before || convert_to(head.seq || E'\n' || head.at_ms || E'\n' || next_entry, 'UTF8'));
    insert into keys.audit_log (seq, at_ms, entry, previous, hash)
    values (head.seq, head.at_ms, next_entry, before, head.hash);
  end loop;
  update keys.audit_head set seq = head.seq, at_ms = head.at_ms, hash = head.hash;
end $$;
