-- Requests that asked the same under one Idempotency-Key. A run that lost its edge is paid for by the run that replaced it.

-- Null: the request had no such key.
alter table metering.ledger add column claim text;
-- The delivered request of the same claim, and what this one would have cost. Then `charge` is 0.
alter table metering.ledger add column voided_by uuid;
alter table metering.ledger add column voided_charge bigint;

create index ledger_by_claim on metering.ledger (account, claim) where claim is not null;
