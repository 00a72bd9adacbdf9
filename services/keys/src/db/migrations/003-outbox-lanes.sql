-- A change that cannot be announced waits longer and longer, and holds up nothing but later changes of its own account.
alter table keys.outbox
  -- How often its announcement has failed.
  add column attempts integer not null default 0,
  -- Until then somebody is announcing it, or it pauses.
  add column next_try_at timestamptz not null default now() + interval '3 seconds';

create index outbox_by_account on keys.outbox (account, id);
