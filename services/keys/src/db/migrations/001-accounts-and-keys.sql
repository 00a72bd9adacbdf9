-- Who may call the gateway: accounts, their keys, and what each account holds.

create table keys.accounts (
  -- The account's id, and the account tag inside each of its keys.
  tag text primary key check (tag ~ '^[0-9A-Za-z]{8}$'),
  kind text not null check (kind in ('developer', 'guest')),
  -- A developer account is a token's issuer and subject; a guest account is the keyed hash of a device id.
  issuer text,
  subject text,
  device_hash bytea unique,
  plan text not null,
  overage boolean not null default false,
  -- Grows under the row lock with every change of the account or of one of its keys.
  version bigint not null default 1,
  created_at timestamptz not null default now(),
  unique (issuer, subject),
  check (case kind
    when 'developer' then issuer is not null and subject is not null and device_hash is null
    else issuer is null and subject is null and device_hash is not null
  end)
);

create index accounts_by_subject on keys.accounts (subject) where subject is not null;

create table keys.keys (
  key_id text primary key check (key_id ~ '^[0-9A-Za-z]{8}$'),
  account text not null references keys.accounts (tag),
  -- SHA-256 of the whole key.
  hash bytea not null unique check (octet_length(hash) = 32),
  -- The whole key, since minting again must return it; AES-256-GCM under the named master key.
  sealed bytea not null,
  master_key_id text not null,
  status text not null default 'active' check (status in ('active', 'deactivated')),
  -- The account's version when this key last changed.
  version bigint not null,
  created_at timestamptz not null default now(),
  deactivated_at timestamptz,
  last_used_at timestamptz,
  check ((status = 'deactivated') = (deactivated_at is not null))
);

create unique index one_active_key_per_account on keys.keys (account) where status = 'active';
create index keys_by_account on keys.keys (account, created_at desc);
create index keys_by_master_key on keys.keys (master_key_id);

create table keys.top_ups (
  id uuid primary key,
  account text not null references keys.accounts (tag),
  -- The calendar month (UTC) that it adds to: '2026-11'.
  "window" text not null,
  unit text not null check (unit in ('tokens', 'usd')),
  -- Milli-tokens of allowance, or nano-dollars.
  amount bigint not null check (amount > 0),
  created_at timestamptz not null default now()
);

create index top_ups_by_account on keys.top_ups (account, "window");

-- The times of the last hour's new guest devices, per client network (a keyed hash), for the cap on them.
create table keys.guest_networks (
  network_hash bytea primary key,
  minted_at timestamptz[] not null default '{}'
);

-- Random secrets of this service, sealed under the named master key.
create table keys.secrets (
  name text primary key,
  sealed bytea not null,
  master_key_id text not null
);

-- Changes that are committed here and that the admission store and the edges may not know yet.
create table keys.outbox (
  id bigint generated always as identity primary key,
  account text not null references keys.accounts (tag),
  -- The key that the change killed, if it killed one.
  key_id text references keys.keys (key_id),
  reason text not null,
  created_at timestamptz not null default now()
);
