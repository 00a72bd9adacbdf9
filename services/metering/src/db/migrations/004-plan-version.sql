-- Which of an account's plans is the later one is told by the number that keys gave its change, and no longer by clocks.

-- The plan that a request was admitted under; null in rows of before, and where it is not known.
alter table metering.ledger add column plan_version bigint;

-- The latest plan that is known of, to which `unit` belongs; 0 where no number is known.
alter table metering.windows add column plan_version bigint not null default 0;
-- Read by processes of the former version only.
alter table metering.windows alter column unit_since set default '-infinity';
