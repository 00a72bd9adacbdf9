-- The thresholds of its allowance that an account has passed: one row for each account, window and threshold.
create table keys.thresholds (
  account text not null references keys.accounts (tag),
  -- The calendar month (UTC): '2026-11'.
  "window" text not null,
  percent smallint not null,
  -- As they were then: the plan, and in its smallest unit what was used and the limit with top-ups.
  plan text not null,
  unit text not null check (unit in ('tokens', 'usd')),
  used bigint not null,
  "limit" bigint not null,
  passed_at timestamptz not null default now(),
  -- When operators were told.
  announced_at timestamptz,
  primary key (account, "window", percent)
);
create index thresholds_to_announce on keys.thresholds (passed_at) where announced_at is null;
