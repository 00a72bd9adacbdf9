-- Events of an account in the order of its changes. A change counts here under the account's lock; its time is that of the
-- transaction's begin, before it waited for the lock.
alter table keys.events add column seq bigint generated always as identity;
drop index keys.events_to_publish;
create index events_to_publish on keys.events (seq) where published_at is null;
