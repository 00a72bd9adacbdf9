-- The version of the total in metering's ledger, which falls where a run is void or a report replaces another. 0: a former release
-- reported it.
alter table keys.spending add column version bigint not null default 0;
