-- The ledger: one row per request, and what each account's requests of a calendar month come to.

create table metering.ledger (
  -- UUIDv7: its first 48 bits are the time, so a range of ids is a range of time.
  request_id uuid primary key,
  -- Who reported: an edge (2) outranks a router (1).
  rank smallint not null,
  account text not null,
  key_id text not null,
  plan text not null,
  unit text not null,
  "window" text not null,
  model_asked text not null,
  lane text not null,
  pool text not null,
  backend text not null,
  backend_model text not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  reasoning_tokens bigint not null,
  estimated boolean not null,
  price jsonb not null,
  -- In `unit`: milli-tokens of allowance, or nano-dollars.
  charge bigint not null,
  -- The charge of the report that this one replaced.
  replaced_charge bigint,
  outcome text not null,
  delivered boolean not null,
  streamed boolean not null,
  attempts jsonb not null,
  started_at timestamptz not null,
  ended_at timestamptz not null,
  recorded_at timestamptz not null default now()
) partition by range (request_id);

-- An account's requests in the order of time, and so its usage between two times.
create index ledger_by_account on metering.ledger (account, request_id);

-- Months are made ahead of time and on demand. This one takes ids of an impossible time, so that no report is refused.
create table metering.ledger_elsewhen partition of metering.ledger default;

-- What the ledger's rows come to, moved in the same transaction as the rows.
create table metering.windows (
  account text not null,
  "window" text not null,
  -- Within what a JavaScript number holds exactly.
  milli_tokens bigint not null check (abs(milli_tokens) < 9007199254740992),
  nano_usd bigint not null check (abs(nano_usd) < 9007199254740992),
  -- The unit that the account's plan counts in, and since when: the admission store holds the total of this unit.
  unit text not null,
  unit_since timestamptz not null,
  -- Grows under the row lock with every change, so the store can tell a newer total from an older one.
  version bigint not null,
  primary key (account, "window")
) with (fillfactor = 70);

-- Totals that are committed and that the admission store could not be told of, with the requests that they include.
create table metering.owed_totals (
  id bigint generated always as identity primary key,
  account text not null,
  "window" text not null,
  included jsonb not null,
  created_at timestamptz not null default now()
);

-- Reports that no reading or writing can make sense of, kept for a person.
create table metering.rejected (
  digest bytea primary key,
  payload bytea not null,
  reason text not null,
  stream_sequence bigint not null,
  rejected_at timestamptz not null default now()
);
