-- Calls of tools that the vendor ran, by the tool's name, and what the vendor says that the request cost the operator, in
-- nano-dollars; null where it does not say. Tokens of sound are parts of prompt_tokens, cached_tokens and completion_tokens.
alter table metering.ledger add column tool_calls jsonb not null default '{}';
alter table metering.ledger add column vendor_cost_nano_usd bigint;
alter table metering.ledger add column audio_prompt_tokens bigint not null default 0;
alter table metering.ledger add column cached_audio_tokens bigint not null default 0;
alter table metering.ledger add column audio_completion_tokens bigint not null default 0;
