-- The limits of projects beside their plan, spend alerts, and events that wait for the stream.

-- A row from the first change on; a project without one has no limits of its own and no hosted tools.
create table keys.project_limits (
  account text primary key references keys.accounts (tag),
  -- The hard limit of a calendar month, by the unit of the plan: cents, or tokens of allowance.
  spend_cents bigint check (spend_cents > 0),
  allowance_tokens bigint check (allowance_tokens > 0),
  -- Permitted or denied models: ids of the config. Null: every model of the plan.
  model_mode text check (model_mode in ('allow_list', 'deny_list')),
  model_ids text[] not null default '{}',
  -- In the words of the config.
  hosted_tools text[] not null default '{}',
  -- The account's version when models or tools last changed.
  policy_version bigint not null default 0
);

create table keys.model_limits (
  account text not null references keys.accounts (tag),
  model text not null,
  requests_per_minute bigint check (requests_per_minute > 0),
  tokens_per_minute bigint check (tokens_per_minute > 0),
  requests_per_day bigint check (requests_per_day > 0),
  primary key (account, model),
  check (coalesce(requests_per_minute, tokens_per_minute, requests_per_day) is not null)
);

create table keys.spend_alerts (
  -- Ids begin with the time, so their order is that of their creation.
  id text collate "C" primary key check (id ~ '^alert_[0-9A-Za-z]{24}$'),
  -- Null: all accounts together.
  account text references keys.accounts (tag),
  threshold_cents bigint check (threshold_cents >= 0),
  allowance_tokens bigint check (allowance_tokens > 0),
  recipients text[] not null,
  subject_prefix text,
  -- An alert says nothing about months before.
  changed_at timestamptz not null default now(),
  check (coalesce(threshold_cents, allowance_tokens) is not null)
);
create index spend_alerts_by_account on keys.spend_alerts (account, id);

-- The totals of accounts by month, as metering last reported them. They never fall, so a late report does no harm.
create table keys.spending (
  "window" text not null,
  account text not null references keys.accounts (tag),
  milli_tokens bigint not null,
  nano_usd bigint not null,
  primary key ("window", account)
);

create table keys.organization_spending (
  "window" text primary key,
  milli_tokens numeric not null,
  nano_usd numeric not null
);

-- The sum follows each writer, in its transaction.
create function keys.sum_spending() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into keys.organization_spending as total ("window", milli_tokens, nano_usd)
    select "window", sum(milli_tokens), sum(nano_usd) from after group by "window" order by "window"
    on conflict ("window") do update
    set milli_tokens = total.milli_tokens + excluded.milli_tokens, nano_usd = total.nano_usd + excluded.nano_usd;
  else
    insert into keys.organization_spending as total ("window", milli_tokens, nano_usd)
    select "window", sum(after.milli_tokens - before.milli_tokens), sum(after.nano_usd - before.nano_usd)
    from after join before using ("window", account) group by "window" order by "window"
    on conflict ("window") do update
    set milli_tokens = total.milli_tokens + excluded.milli_tokens, nano_usd = total.nano_usd + excluded.nano_usd;
  end if;
  return null;
end $$;
create trigger sum_spending_of_new after insert on keys.spending
  referencing new table as after for each statement execute function keys.sum_spending();
create trigger sum_spending_of_known after update on keys.spending
  referencing old table as before new table as after for each statement execute function keys.sum_spending();

-- Events that are committed here and that the stream may not hold yet. The id makes each one row.
create table keys.events (
  id text primary key,
  kind text not null check (kind in ('spend_alert', 'key')),
  payload jsonb not null,
  created_at timestamptz not null default now(),
  published_at timestamptz
);
create index events_to_publish on keys.events (created_at, id) where published_at is null;
create index events_published on keys.events (published_at) where published_at is not null;

-- Each writer of a key notes the event, in its transaction: archives and processes of release 0.1.0, too. Keys of guests are no news.
create function keys.note_key_event(of_change text, of_account text, of_key text, of_version bigint, details jsonb)
returns void language sql as $$
  insert into keys.events (id, kind, payload)
  select of_key || '.' || of_change || '.' || of_version, 'key', details || jsonb_build_object(
    'change', of_change, 'account', of_account, 'accountKind', owner.kind, 'projectName', project.name, 'keyId', of_key,
    'at', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  from keys.accounts owner left join keys.projects project on project.account = owner.tag
  where owner.tag = of_account and owner.kind <> 'guest'
  on conflict (id) do nothing
$$;

create function keys.key_details(key keys.project_keys) returns jsonb language sql as $$
  select jsonb_build_object(
    'name', key.name, 'serviceAccountId', key.service_account,
    'expiresAt', to_char(key.expires_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
$$;

create function keys.note_project_key() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform keys.note_key_event('created', new.account, new.key_id, new.version, keys.key_details(new));
  elsif old.deactivated_at is null and new.deactivated_at is not null then
    perform keys.note_key_event('revoked', new.account, new.key_id, new.version, keys.key_details(new));
  elsif old.hash <> new.hash then
    perform keys.note_key_event('rotated', new.account, new.key_id, new.version, keys.key_details(new));
  end if;
  return null;
end $$;
create trigger note_project_key after insert or update on keys.project_keys
  for each row execute function keys.note_project_key();

create function keys.note_developer_key() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform keys.note_key_event('created', new.account, new.key_id, new.version, '{}');
  elsif old.status = 'active' and new.status = 'deactivated' then
    perform keys.note_key_event('revoked', new.account, new.key_id, new.version, '{}');
  end if;
  return null;
end $$;
create trigger note_developer_key after insert or update of status on keys.keys
  for each row execute function keys.note_developer_key();

create index project_keys_by_expiry on keys.project_keys (expires_at)
  where deactivated_at is null and expires_at is not null;
