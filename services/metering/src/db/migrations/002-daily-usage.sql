-- What each account's requests of a day come to, by the model that was asked for: what owners are shown over time.
--
-- The database itself keeps it, in the transaction that writes the ledger's rows. So its sums are those of the rows,
-- after corrections too, and also while processes of the former version, which know nothing of it, write beside new ones.

-- When the request was made, in UTC; moved into the month that it was charged to where clocks differ about the turn of a
-- month, so that the days of a month come to its window's total.
create function metering.day_of(started_at timestamptz, "window" text) returns date
language sql immutable parallel safe as $$
  select greatest(
    make_date(left("window", 4)::int, right("window", 2)::int, 1),
    least(
      (started_at at time zone 'UTC')::date,
      (make_date(left("window", 4)::int, right("window", 2)::int, 1) + interval '1 month - 1 day')::date
    )
  )
$$;

create table metering.daily_usage (
  account text not null,
  day date not null,
  model_asked text not null,
  unit text not null,
  requests bigint not null,
  -- Each within what a JavaScript number holds exactly.
  prompt_tokens bigint not null check (abs(prompt_tokens) < 9007199254740992),
  completion_tokens bigint not null check (abs(completion_tokens) < 9007199254740992),
  cached_tokens bigint not null check (abs(cached_tokens) < 9007199254740992),
  -- In `unit`: milli-tokens of allowance, or nano-dollars.
  charge bigint not null check (abs(charge) < 9007199254740992),
  primary key (account, day, model_asked, unit)
) with (fillfactor = 70);

create function metering.add_to_daily_usage() returns trigger language plpgsql as $$
begin
  insert into metering.daily_usage as held
  select account, metering.day_of(started_at, "window"), model_asked, unit,
    count(*), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(charge)
  from written
  group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (account, day, model_asked, unit) do update set
    requests = held.requests + excluded.requests,
    prompt_tokens = held.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = held.completion_tokens + excluded.completion_tokens,
    cached_tokens = held.cached_tokens + excluded.cached_tokens,
    charge = held.charge + excluded.charge;
  return null;
end
$$;

-- A report that replaces another may name another model and another time: the former row is taken out, the new one put in.
create function metering.correct_daily_usage() returns trigger language plpgsql as $$
begin
  insert into metering.daily_usage as held
  select account, metering.day_of(started_at, "window"), model_asked, unit,
    sum(sign), sum(sign * prompt_tokens), sum(sign * completion_tokens), sum(sign * cached_tokens), sum(sign * charge)
  from (select 1 as sign, * from replacing union all select -1, * from replaced) as change
  group by 1, 2, 3, 4 order by 1, 2, 3, 4
  on conflict (account, day, model_asked, unit) do update set
    requests = held.requests + excluded.requests,
    prompt_tokens = held.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = held.completion_tokens + excluded.completion_tokens,
    cached_tokens = held.cached_tokens + excluded.cached_tokens,
    charge = held.charge + excluded.charge;
  return null;
end
$$;

-- Writers wait from here on, so that no row is missed and none is counted twice.
create trigger add_to_daily_usage after insert on metering.ledger
  referencing new table as written
  for each statement execute function metering.add_to_daily_usage();
create trigger correct_daily_usage after update on metering.ledger
  referencing old table as replaced new table as replacing
  for each statement execute function metering.correct_daily_usage();

insert into metering.daily_usage
select account, metering.day_of(started_at, "window"), model_asked, unit,
  count(*), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(charge)
from metering.ledger
group by 1, 2, 3, 4;
