-- An operator suspends an account and restores it.

alter table keys.accounts add column suspended_at timestamptz;

-- A suspended key of a person or a guest has a status of its own. A process of release 0.1.0 takes every status but `active` for
-- dead, so it neither fills the key nor finds it for its owner.
alter table keys.keys
  drop constraint keys_status_check,
  add constraint keys_status_check check (status in ('active', 'suspended', 'deactivated'));

-- Such a process would make another key for the owner.
create function keys.refuse_suspended() returns trigger language plpgsql as $$
begin
  if exists (select from keys.accounts where tag = new.account and suspended_at is not null) then
    raise exception 'the account % is suspended', new.account;
  end if;
  return new;
end $$;
create trigger refuse_suspended before insert on keys.keys for each row execute function keys.refuse_suspended();

create or replace function keys.note_developer_key() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform keys.note_key_event('created', new.account, new.key_id, new.version, '{}');
  elsif old.status <> 'deactivated' and new.status = 'deactivated' then
    perform keys.note_key_event('revoked', new.account, new.key_id, new.version, '{}');
  end if;
  return null;
end $$;
