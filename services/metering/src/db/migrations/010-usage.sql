-- Usage by project, user, key, model and tag. Triggers note each change of the ledger in its own transaction, beside processes of a
-- former release, too. Metering moves the notes into sums. Readers add both, so their totals are those of the rows at any time.

-- The kind of the request's model (`chat`, `embeddings`, `images`); null in reports of former releases.
alter table metering.ledger add column kind text;
alter table metering.ledger add column is_project boolean not null default false;
-- The member of the project whose key it is, as `user-…`.
alter table metering.ledger add column user_id text;
-- The client's own user, hashed by the edge.
alter table metering.ledger add column end_user text;
alter table metering.ledger add column tags jsonb;
-- Images of the response.
alter table metering.ledger add column images bigint not null default 0;

-- The minute of a request in UTC, within the month that it was charged to. Its date is `day_of`.
create function metering.minute_of(started_at timestamptz, "window" text) returns timestamptz
language sql immutable parallel safe as $$
  select greatest(
    make_date(left("window", 4)::int, right("window", 2)::int, 1)::timestamp,
    least(
      date_trunc('minute', started_at at time zone 'UTC'),
      make_date(left("window", 4)::int, right("window", 2)::int, 1) + interval '1 month - 1 minute'
    )
  ) at time zone 'UTC'
$$;

-- The columns of each table of sums. Notes have the bounds, so that no sum is refused. The windows bound the charges.
create table metering.sums (
  requests bigint not null,
  -- The kinds of tokens below are parts of these two.
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  cache_write_tokens bigint not null,
  audio_prompt_tokens bigint not null,
  cached_audio_tokens bigint not null,
  audio_completion_tokens bigint not null,
  -- Images, or calls of a tool.
  units bigint not null,
  -- In `unit`: milli-tokens of allowance, or nano-dollars.
  charge bigint not null
);

-- A note adds to the sums, or takes from them where a report was replaced. Notes have no key, so no writer waits for another's.
-- A request counts under its own kind, and once more as `tool:…` for each tool that a vendor ran for it. Such a note has calls
-- alone, and neither tokens nor a charge.
create table metering.usage_notes (
  account text not null,
  begins timestamptz not null,
  model_asked text not null,
  key_id text not null,
  -- Empty: none is known.
  user_id text not null,
  kind text not null,
  unit text not null,
  -- Null in notes of all requests. Others count the requests with this tag, by the day.
  tag text,
  like metering.sums,
  -- A note that no index or sum can hold would stop all sums. So its report is refused, and kept aside.
  check (
    octet_length(account) + octet_length(model_asked) + octet_length(key_id) + octet_length(user_id) + octet_length(kind)
      + octet_length(unit) + coalesce(octet_length(tag), 0) < 2048
  ),
  check (
    greatest(
      abs(prompt_tokens), abs(completion_tokens), abs(cached_tokens), abs(cache_write_tokens), abs(audio_prompt_tokens),
      abs(cached_audio_tokens), abs(audio_completion_tokens), abs(units)
    ) < 2::bigint ^ 43
  )
);

create table metering.usage_by_day (
  account text not null,
  day date not null,
  model_asked text not null,
  key_id text not null,
  user_id text not null,
  kind text not null,
  unit text not null,
  like metering.sums,
  primary key (account, day, model_asked, key_id, user_id, kind, unit)
) with (fillfactor = 70);
create index usage_by_day_by_day on metering.usage_by_day (day, account);
create index usage_by_day_by_key on metering.usage_by_day (key_id, day);

-- Metering sums up minutes that are more than a day old, by the hour, and deletes those of hours in the end.
create table metering.usage_by_minute (
  account text not null,
  begins timestamptz not null,
  model_asked text not null,
  key_id text not null,
  user_id text not null,
  kind text not null,
  unit text not null,
  like metering.sums,
  primary key (account, begins, model_asked, key_id, user_id, kind, unit)
) with (fillfactor = 70);
create index usage_by_minute_by_time on metering.usage_by_minute (begins);

-- The first thousand pairs of a project's month, as `team=search`. All others are summed as `other`.
create table metering.tags (
  account text not null,
  "window" text not null,
  tag text not null,
  primary key (account, "window", tag)
);

create table metering.usage_by_tag (
  account text not null,
  day date not null,
  tag text not null,
  model_asked text not null,
  kind text not null,
  unit text not null,
  like metering.sums,
  primary key (account, day, tag, model_asked, kind, unit)
) with (fillfactor = 70);
create index usage_by_tag_by_day on metering.usage_by_tag (day, account);

-- Of all projects together, so that a query without projects and keys reads few rows.
create table metering.usage_of_organization (
  -- `all`, `user` or `tag`.
  part text not null,
  day date not null,
  -- The user or the tag; empty in rows of `all`.
  name text not null,
  model_asked text not null,
  kind text not null,
  unit text not null,
  like metering.sums,
  primary key (part, day, name, model_asked, kind, unit)
) with (fillfactor = 70);
drop table metering.sums;

-- Sums and notes. A statement sees each change in one of the two, since it moves in one transaction.
create view metering.usage_of_days as
select account, day, model_asked, key_id, user_id, kind, unit,
  requests, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, audio_prompt_tokens, cached_audio_tokens,
  audio_completion_tokens, units, charge
from metering.usage_by_day
union all
select account, (begins at time zone 'UTC')::date, model_asked, key_id, user_id, kind, unit,
  requests, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, audio_prompt_tokens, cached_audio_tokens,
  audio_completion_tokens, units, charge
from metering.usage_notes where tag is null;

create view metering.usage_of_minutes as
select account, begins, model_asked, key_id, user_id, kind, unit,
  requests, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, audio_prompt_tokens, cached_audio_tokens,
  audio_completion_tokens, units, charge
from metering.usage_by_minute
union all
select account, begins, model_asked, key_id, user_id, kind, unit,
  requests, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, audio_prompt_tokens, cached_audio_tokens,
  audio_completion_tokens, units, charge
from metering.usage_notes where tag is null;

create view metering.usage_of_tags as
select account, day, tag, model_asked, kind, unit,
  requests, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, audio_prompt_tokens, cached_audio_tokens,
  audio_completion_tokens, units, charge
from metering.usage_by_tag
union all
select account, (begins at time zone 'UTC')::date, tag, model_asked, kind, unit,
  requests, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, audio_prompt_tokens, cached_audio_tokens,
  audio_completion_tokens, units, charge
from metering.usage_notes where tag is not null;

create view metering.usage_in_all as
select part, day, name, model_asked, kind, unit,
  requests, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, audio_prompt_tokens, cached_audio_tokens,
  audio_completion_tokens, units, charge
from metering.usage_of_organization
union all
select 'all', (begins at time zone 'UTC')::date, '', model_asked, kind, unit,
  requests, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, audio_prompt_tokens, cached_audio_tokens,
  audio_completion_tokens, units, charge
from metering.usage_notes where tag is null
union all
select 'user', (begins at time zone 'UTC')::date, user_id, model_asked, kind, unit,
  requests, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, audio_prompt_tokens, cached_audio_tokens,
  audio_completion_tokens, units, charge
from metering.usage_notes where tag is null
union all
select 'tag', (begins at time zone 'UTC')::date, tag, model_asked, kind, unit,
  requests, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, audio_prompt_tokens, cached_audio_tokens,
  audio_completion_tokens, units, charge
from metering.usage_notes where tag is not null;

-- The totals of keys that have a limit of their own. A key's first row begins when admission first needs its total.
create table metering.key_windows (
  account text not null,
  key_id text not null,
  "window" text not null,
  milli_tokens bigint not null,
  nano_usd bigint not null,
  primary key (account, key_id, "window")
) with (fillfactor = 70);

-- `changed` are the rows of the statement, which count by the trigger's argument: 1, or -1 where a report replaced them.
create function metering.note_usage() returns trigger language plpgsql as $$
declare
  sign bigint := tg_argv[0];
  is_changed boolean;
  has_tools boolean;
  has_tags boolean;
  has_keys boolean;
begin
  select count(*) > 0, bool_or(tool_calls <> '{}'), bool_or(tags is not null),
    exists (select from changed join metering.key_windows held using (account, key_id))
  into is_changed, has_tools, has_tags, has_keys from changed;
  -- Most statements replace nothing.
  if not is_changed then return null; end if;

  insert into metering.usage_notes
  select account, metering.minute_of(started_at, "window"), model_asked, key_id, coalesce(user_id, ''),
    coalesce(kind, 'chat'), unit, null,
    sign * count(*), sign * sum(prompt_tokens), sign * sum(completion_tokens), sign * sum(cached_tokens),
    sign * sum(cache_write_tokens), sign * sum(audio_prompt_tokens), sign * sum(cached_audio_tokens),
    sign * sum(audio_completion_tokens), sign * sum(images), sign * sum(charge)
  from changed group by 1, 2, 3, 4, 5, 6, 7;
  if has_tools then
    insert into metering.usage_notes
    select account, metering.minute_of(started_at, "window"), model_asked, key_id, coalesce(user_id, ''),
      'tool:' || tool.key, unit, null,
      sign * count(*), 0, 0, 0, 0, 0, 0, 0, sign * sum(tool.value::bigint), 0
    from changed cross join jsonb_each_text(changed.tool_calls) as tool
    group by 1, 2, 3, 4, 5, 6, 7;
  end if;
  if has_keys then
    perform metering.keep_key_totals(array(
      select jsonb_build_array(account, "window", key_id,
        coalesce(sign * sum(charge) filter (where unit = 'tokens'), 0),
        coalesce(sign * sum(charge) filter (where unit = 'usd'), 0))
      from changed group by account, "window", key_id order by account, "window", key_id
    ));
  end if;
  if has_tags then
    perform metering.name_tags(array(
      select distinct jsonb_build_array(account, "window", tag.key || '=' || tag.value)
      from changed cross join jsonb_each_text(changed.tags) as tag order by 1
    ));
    insert into metering.usage_notes
    select row.account, metering.day_of(started_at, row."window")::timestamp at time zone 'UTC', model_asked, '', '',
      coalesce(kind, 'chat'), unit, row_tag.tag,
      sign * count(*), sign * sum(prompt_tokens), sign * sum(completion_tokens), sign * sum(cached_tokens),
      sign * sum(cache_write_tokens), sign * sum(audio_prompt_tokens), sign * sum(cached_audio_tokens),
      sign * sum(audio_completion_tokens), sign * sum(images), sign * sum(charge)
    from changed as row
    -- A request with several pairs beyond the bound counts once as `other`.
    cross join lateral (
      select distinct coalesce(known.tag, 'other') as tag
      from jsonb_each_text(row.tags) as pair
      left join metering.tags known
        on known.account = row.account and known."window" = row."window" and known.tag = pair.key || '=' || pair.value
    ) as row_tag
    group by 1, 2, 3, 6, 7, 8;
  end if;
  return null;
end
$$;

-- Each is [account, window, key id, milli-tokens, nano-dollars]. Notes or sums hold them already. A key whose total was needed in
-- one month has one in each month with usage: the admission store lets a known key begin a month with nothing.
create function metering.keep_key_totals(changes jsonb[]) returns void language plpgsql as $$
begin
  update metering.key_windows as held
  set milli_tokens = held.milli_tokens + (change->>3)::bigint, nano_usd = held.nano_usd + (change->>4)::bigint
  from unnest(changes) as change
  where (held.account, held."window", held.key_id) = (change->>0, change->>1, change->>2);
  insert into metering.key_windows (account, "window", key_id, milli_tokens, nano_usd)
  select used.account, change->>1, used.key_id,
    coalesce(sum(used.charge) filter (where unit = 'tokens'), 0), coalesce(sum(used.charge) filter (where unit = 'usd'), 0)
  from unnest(changes) as change
  join metering.usage_of_days used on used.account = change->>0 and used.key_id = change->>2
    and used.day >= to_date(change->>1, 'YYYY-MM') and used.day < to_date(change->>1, 'YYYY-MM') + interval '1 month'
  where exists (select from metering.key_windows where account = change->>0 and key_id = change->>2)
    and not exists (
      select from metering.key_windows
      where account = change->>0 and key_id = change->>2 and "window" = change->>1
    )
  group by 1, 2, 3 order by 1, 2, 3;
end
$$;

-- Each is [account, window, pair]. Those who would name new ones take turns, so that there are never more than a thousand. No pair
-- is added to a full month, so a row that is taken out counted under the same tags.
create function metering.name_tags(pairs jsonb[]) returns void language plpgsql as $$
begin
  pairs := array(
    select pair from unnest(pairs) as pair
    where not exists (
      select from metering.tags where account = pair->>0 and "window" = pair->>1 and tag = pair->>2
    )
    order by pair
  );
  if cardinality(pairs) = 0 then return; end if;
  perform pg_advisory_xact_lock(4120664, key)
  from (select distinct hashtext((pair->>0) || (pair->>1)) as key from unnest(pairs) as pair order by key) as ordered;
  insert into metering.tags (account, "window", tag)
  select account, "window", tag
  from (
    select pair->>0 as account, pair->>1 as "window", pair->>2 as tag,
      row_number() over (partition by pair->>0, pair->>1 order by pair->>2)
        + (select count(*) from metering.tags held where held.account = pair->>0 and held."window" = pair->>1) as place
    from unnest(pairs) as pair
    where not exists (
      select from metering.tags where account = pair->>0 and "window" = pair->>1 and tag = pair->>2
    )
  ) as placed
  where place <= 1000;
end
$$;

-- Writers wait from here on, so that no row is missed and none is counted twice.
drop trigger add_to_daily_usage on metering.ledger;
drop trigger correct_daily_usage on metering.ledger;
drop function metering.add_to_daily_usage();
drop function metering.correct_daily_usage();
create trigger count_usage after insert on metering.ledger
  referencing new table as changed for each statement execute function metering.note_usage('1');
create trigger count_replacing_usage after update on metering.ledger
  referencing new table as changed for each statement execute function metering.note_usage('1');
create trigger count_replaced_usage after update on metering.ledger
  referencing old table as changed for each statement execute function metering.note_usage('-1');

-- Former releases have images and embeddings in the ledger without their kind.
insert into metering.usage_by_day
select account, metering.day_of(started_at, "window"), model_asked, key_id, '', 'chat', unit,
  count(*), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(cache_write_tokens),
  sum(audio_prompt_tokens), sum(cached_audio_tokens), sum(audio_completion_tokens), 0, sum(charge)
from metering.ledger group by 1, 2, 3, 4, 7;
insert into metering.usage_by_minute
select account,
  case when started_at < now() - interval '25 hours' then date_trunc('hour', metering.minute_of(started_at, "window"), 'UTC')
    else metering.minute_of(started_at, "window") end,
  model_asked, key_id, '', 'chat', unit,
  count(*), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(cache_write_tokens),
  sum(audio_prompt_tokens), sum(cached_audio_tokens), sum(audio_completion_tokens), 0, sum(charge)
from metering.ledger where started_at > now() - interval '31 days' group by 1, 2, 3, 4, 7;
-- An operator may have dropped old months of the ledger. Their sums stay, without the keys.
insert into metering.usage_by_day
select account, day, model_asked, '', '', 'chat', unit,
  sum(requests), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), 0, 0, 0, 0, 0, sum(charge)
from (
  select account, day, model_asked, unit, requests, prompt_tokens, completion_tokens, cached_tokens, charge
  from metering.daily_usage
  union all
  select account, day, model_asked, unit, -requests, -prompt_tokens, -completion_tokens, -cached_tokens, -charge
  from metering.usage_by_day
) as difference
group by 1, 2, 3, 7 having sum(requests) <> 0;

insert into metering.usage_of_organization
select 'all', day, '', model_asked, kind, unit,
  sum(requests), sum(prompt_tokens), sum(completion_tokens), sum(cached_tokens), sum(cache_write_tokens),
  sum(audio_prompt_tokens), sum(cached_audio_tokens), sum(audio_completion_tokens), sum(units), sum(charge)
from metering.usage_by_day group by 2, 4, 5, 6;
-- No user is known.
insert into metering.usage_of_organization
select 'user', day, name, model_asked, kind, unit,
  requests, prompt_tokens, completion_tokens, cached_tokens, cache_write_tokens, audio_prompt_tokens, cached_audio_tokens,
  audio_completion_tokens, units, charge
from metering.usage_of_organization;

-- Former releases read it.
drop table metering.daily_usage;
create view metering.daily_usage as
select account, day, model_asked, unit, sum(requests)::bigint as requests, sum(prompt_tokens)::bigint as prompt_tokens,
  sum(completion_tokens)::bigint as completion_tokens, sum(cached_tokens)::bigint as cached_tokens,
  sum(charge)::bigint as charge
from metering.usage_of_days where kind not like 'tool:%'
group by account, day, model_asked, unit;
