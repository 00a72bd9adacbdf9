-- Projects: accounts that a group shares, their service accounts and their named keys. A process of release 0.1.0 that runs
-- beside reads none of these tables, so it neither fills nor announces a key of a project.

alter table keys.accounts
  drop constraint accounts_kind_check,
  drop constraint accounts_check;
alter table keys.accounts
  add constraint accounts_kind_check check (kind in ('developer', 'guest', 'project')),
  add constraint accounts_check check (case kind
    when 'developer' then issuer is not null and subject is not null and device_hash is null
    when 'guest' then issuer is null and subject is null and device_hash is not null
    else issuer is null and subject is null and device_hash is null
  end);
create index accounts_by_age on keys.accounts (created_at desc, tag desc) where kind <> 'guest';

-- A row for each project, and for each personal account that somebody has named.
create table keys.projects (
  account text primary key references keys.accounts (tag),
  name text not null,
  archived_at timestamptz,
  -- The account's version, which counted the archive.
  archived_version bigint,
  check ((archived_at is null) = (archived_version is null))
);

create table keys.service_accounts (
  id text primary key check (id ~ '^svc_acct_[0-9A-Za-z]{24}$'),
  account text not null references keys.accounts (tag),
  name text not null,
  role text not null default 'member' check (role in ('member', 'owner')),
  created_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- The account's version, which counted the deletion.
  deleted_version bigint,
  check ((deleted_at is null) = (deleted_version is null)),
  unique (id, account)
);
create index service_accounts_by_age on keys.service_accounts (account, created_at desc, id desc) where deleted_at is null;

-- A key keeps its id when its value is replaced, so that the ledger's and the admission store's counts go on.
create table keys.project_keys (
  key_id text primary key check (key_id ~ '^[0-9A-Za-z]{8}$'),
  account text not null references keys.accounts (tag),
  -- SHA-256 of the whole key. The value is in the response to its creator, and nowhere else.
  hash bytea not null unique check (octet_length(hash) = 32),
  name text not null,
  -- Its owner is a service account, or the administrator who created it: `user-…`, `key_…` of an admin key, `operator`.
  service_account text,
  created_by text,
  created_by_name text,
  -- Its limits; null: no such limit.
  expires_at timestamptz,
  models text[],
  -- In the smallest unit: milli-tokens of allowance, or nano-dollars.
  monthly_limit bigint check (monthly_limit > 0),
  monthly_unit text check (monthly_unit in ('tokens', 'usd')),
  requests_per_minute bigint check (requests_per_minute > 0),
  tokens_per_minute bigint check (tokens_per_minute > 0),
  -- The account's version when this key last changed.
  version bigint not null,
  created_at timestamptz not null default now(),
  deactivated_at timestamptz,
  last_used_at timestamptz,
  check ((service_account is null) <> (created_by is null)),
  check ((created_by is null) = (created_by_name is null)),
  check ((monthly_limit is null) = (monthly_unit is null)),
  foreign key (service_account, account) references keys.service_accounts (id, account)
);
create index project_keys_by_age on keys.project_keys (account, created_at desc, key_id desc) where deactivated_at is null;
create index project_keys_by_version on keys.project_keys (account, version);
create index project_keys_by_service_account on keys.project_keys (service_account) where deactivated_at is null;

-- The values that keys had before a rotation.
create table keys.replaced_values (
  hash bytea primary key check (octet_length(hash) = 32),
  key_id text not null references keys.project_keys (key_id),
  account text not null references keys.accounts (tag),
  -- The account's version, which counted the rotation.
  version bigint not null
);
create index replaced_values_by_version on keys.replaced_values (account, version);

-- Changes of projects that are committed here and that the admission store and the edges may not know yet. A change is of the
-- keys that have its version: those that it ended, and those whose limits it changed.
create table keys.project_outbox (
  id bigint generated always as identity primary key,
  account text not null references keys.accounts (tag),
  version bigint not null,
  reason text not null,
  created_at timestamptz not null default now(),
  attempts integer not null default 0,
  next_try_at timestamptz not null default now() + interval '3 seconds'
);
create index project_outbox_by_account on keys.project_outbox (account, id);

-- A process of release 0.1.0 would write a project without its limits into the admission store.
create function keys.refuse_project() returns trigger language plpgsql as $$
begin
  if exists (select from keys.accounts where tag = new.account and kind = 'project') then
    raise exception 'changes of a project belong into keys.project_outbox: use this release for them';
  end if;
  return new;
end $$;
create trigger refuse_project before insert on keys.outbox for each row execute function keys.refuse_project();
