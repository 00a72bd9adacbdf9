-- The client's session of a request, and the agent of it that sent the request: null where the client names none. Owners group
-- their usage by them.
alter table metering.ledger add column session_id text;
alter table metering.ledger add column agent_id text;
alter table metering.ledger add column parent_agent_id text;

-- The sums of each session's requests of a day, by agent. As with daily_usage, the database itself keeps them, in the
-- transaction that writes the ledger's rows.
create table metering.session_usage (
  account text not null,
  session_id text not null,
  -- Empty: the session's main agent.
  agent_id text not null,
  day date not null,
  unit text not null,
  requests bigint not null,
  -- Each within what a JavaScript number holds exactly.
  prompt_tokens bigint not null check (abs(prompt_tokens) < 9007199254740992),
  completion_tokens bigint not null check (abs(completion_tokens) < 9007199254740992),
  cached_tokens bigint not null check (abs(cached_tokens) < 9007199254740992),
  -- In `unit`: milli-tokens of allowance, or nano-dollars.
  charge bigint not null check (abs(charge) < 9007199254740992),
  primary key (account, session_id, agent_id, day, unit)
) with (fillfactor = 70);

-- A client may name a session for each request, so a query by days reads no others.
create index session_usage_by_day on metering.session_usage (account, day);

create function metering.add_to_session_usage() returns trigger language plpgsql as $$
begin
  insert into metering.session_usage as held
  select account, session_id, coalesce(agent_id, ''), metering.day_of(started_at, "window"), unit,
    count(*), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(charge)
  from written
  where session_id is not null
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (account, session_id, agent_id, day, unit) do update set
    requests = held.requests + excluded.requests,
    prompt_tokens = held.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = held.completion_tokens + excluded.completion_tokens,
    cached_tokens = held.cached_tokens + excluded.cached_tokens,
    charge = held.charge + excluded.charge;
  return null;
end
$$;

-- A report that replaces another takes the former row out and puts the new one in.
create function metering.correct_session_usage() returns trigger language plpgsql as $$
begin
  insert into metering.session_usage as held
  select account, session_id, coalesce(agent_id, ''), metering.day_of(started_at, "window"), unit,
    sum(sign), sum(sign * prompt_tokens), sum(sign * completion_tokens), sum(sign * cached_tokens), sum(sign * charge)
  from (select 1 as sign, * from replacing union all select -1, * from replaced) as change
  where session_id is not null
  group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
  on conflict (account, session_id, agent_id, day, unit) do update set
    requests = held.requests + excluded.requests,
    prompt_tokens = held.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = held.completion_tokens + excluded.completion_tokens,
    cached_tokens = held.cached_tokens + excluded.cached_tokens,
    charge = held.charge + excluded.charge;
  return null;
end
$$;

create trigger add_to_session_usage after insert on metering.ledger
  referencing new table as written
  for each statement execute function metering.add_to_session_usage();
create trigger correct_session_usage after update on metering.ledger
  referencing old table as replaced new table as replacing
  for each statement execute function metering.correct_session_usage();
