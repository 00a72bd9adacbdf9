-- Whether the request compacts a conversation: `endpoint` or `trigger`, by the way in which its client requested it; null for others.
alter table metering.ledger add column compaction text;
