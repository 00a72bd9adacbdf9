-- Tokens of the prompt that a backend wrote to its cache, and of these the ones that stay there for an hour: parts of
-- prompt_tokens, each at a rate of its own where the price has one.
alter table metering.ledger add column cache_write_tokens bigint not null default 0;
alter table metering.ledger add column cache_write_hour_tokens bigint not null default 0;
