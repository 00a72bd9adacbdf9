-- Deliveries of events to webhooks and by e-mail: one row for each event, channel and recipient.
create table metering.deliveries (
  id bigint generated always as identity primary key,
  -- The id of a webhook in the config, or `email`.
  channel text not null,
  -- An address of e-mail; empty for a webhook.
  recipient text not null default '',
  -- `webhook-id`: the same for each repetition of an event.
  event_id text not null,
  type text not null,
  -- Deliveries of a channel and a line leave one after the other, in the order of their ids.
  line text not null,
  payload text not null,
  state text not null default 'waiting' check (state in ('waiting', 'delivered', 'dead')),
  attempts integer not null default 0,
  created_at timestamptz not null default now(),
  -- The day of attempts begins here.
  since timestamptz not null default now(),
  -- No attempt begins before; that of a running attempt is past its time limit.
  due_at timestamptz not null default now(),
  ended_at timestamptz,
  -- Of the last attempt.
  fault text,
  unique (channel, recipient, event_id)
);
create index deliveries_waiting on metering.deliveries (channel, line, id) where state = 'waiting';
create index deliveries_dead on metering.deliveries (id) where state = 'dead';
create index deliveries_ended on metering.deliveries (ended_at) where state <> 'waiting';

-- Webhooks that replied 410: no attempt until an operator enables them, or their config changes.
create table metering.disabled_webhooks (
  channel text primary key,
  -- Of the webhook's config.
  fingerprint text not null,
  disabled_at timestamptz not null default now()
);

-- Backends that some router, or an operator, has taken out at least once.
create table metering.backend_states (
  backend text primary key,
  is_out boolean not null,
  -- Counts up: each change is an event.
  changes bigint not null
);
