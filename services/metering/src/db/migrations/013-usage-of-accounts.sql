-- Requests and charges of each account by day, so that an overview of a month reads one row where `usage_by_day` has one for each
-- model, key and user. Triggers add each change of `usage_by_day`, so processes of a former release keep these sums, too.
create table metering.usage_by_account (
  account text not null,
  day date not null,
  unit text not null,
  requests bigint not null,
  charge bigint not null,
  primary key (day, account, unit)
) with (fillfactor = 70);

create function metering.sum_up_accounts() returns trigger language plpgsql as $$
declare
  sign bigint := tg_argv[0];
begin
  insert into metering.usage_by_account as held (account, day, unit, requests, charge)
  select account, day, unit, sign * sum(requests), sign * sum(charge)
  from changed where kind not like 'tool:%' group by 1, 2, 3 order by 2, 1, 3
  on conflict (day, account, unit) do update
  set requests = held.requests + excluded.requests, charge = held.charge + excluded.charge;
  return null;
end
$$;

-- Writers wait from here on, so that no row is missed and none is counted twice.
create trigger sum_up_new after insert on metering.usage_by_day
  referencing new table as changed for each statement execute function metering.sum_up_accounts('1');
create trigger sum_up_changed after update on metering.usage_by_day
  referencing new table as changed for each statement execute function metering.sum_up_accounts('1');
create trigger take_out_changed after update on metering.usage_by_day
  referencing old table as changed for each statement execute function metering.sum_up_accounts('-1');
create trigger take_out_deleted after delete on metering.usage_by_day
  referencing old table as changed for each statement execute function metering.sum_up_accounts('-1');

insert into metering.usage_by_account
select account, day, unit, sum(requests), sum(charge)
from metering.usage_by_day where kind not like 'tool:%' group by 1, 2, 3;

-- With the notes, as `usage_of_days`.
create view metering.usage_of_accounts as
select account, day, unit, requests, charge from metering.usage_by_account
union all
select account, (begins at time zone 'UTC')::date, unit, requests, charge
from metering.usage_notes where tag is null and kind not like 'tool:%';
