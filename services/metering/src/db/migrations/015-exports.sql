-- Exports of the ledger (`src/exports/`). A trigger notes each row in the transaction that writes it, once for each export. So a note
-- is visible as soon as its row is, and no order of commits can hide one.

create table metering.exports (
  id text primary key,
  -- Of the tables below. Who begins an export anew begins a new queue, so that nobody else still writes to it.
  queue uuid not null unique,
  -- Whether new rows get notes.
  is_noting boolean not null default false,
  -- False until the rows from before the export have their notes.
  has_begun boolean not null default false,
  -- The process that writes, and until when others leave the export to it.
  leased_by text,
  leased_until timestamptz not null default '-infinity',
  -- The latest time that a process named it in its config.
  named_at timestamptz not null default now(),
  -- Rows of this day and earlier ones are late.
  closed_through date,
  -- The number of the last part that was made.
  part bigint not null default 0,
  run_requested_at timestamptz,
  -- Of the files that are complete.
  last_file text,
  last_written_at timestamptz,
  files bigint not null default 0,
  rows bigint not null default 0,
  corrections bigint not null default 0,
  last_error text,
  failed_at timestamptz
);

-- Requests whose rows no part has yet.
create table metering.export_notes (
  queue uuid not null,
  day date not null,
  request_ids uuid[] not null
);
create index export_notes_by_day on metering.export_notes (queue, day);

-- A row before a report replaced it or an other run voided it, until a file has the correction. A part may be written later than it
-- was made, and again, so it needs the rows as they were.
create table metering.export_changes (
  id bigint generated always as identity primary key,
  queue uuid not null,
  request_id uuid not null,
  former jsonb not null,
  -- The part that corrects it; null until one is made.
  part bigint
);
create index export_changes_by_request on metering.export_changes (queue, request_id);

-- A part of a day whose file is not known to be complete.
create table metering.export_parts (
  queue uuid not null,
  part bigint not null,
  day date not null,
  -- As it was when the part was made.
  closed_through date,
  request_ids uuid[] not null,
  primary key (queue, part)
);

create function metering.note_exports() returns trigger language plpgsql as $$
begin
  if not exists (select from metering.exports where is_noting) then return null; end if;
  insert into metering.export_notes (queue, day, request_ids)
  select export.queue, metering.day_of(started_at, "window"), array_agg(request_id)
  from written cross join metering.exports export
  where export.is_noting group by 1, 2;
  return null;
end
$$;

create function metering.note_export_changes() returns trigger language plpgsql as $$
begin
  if not exists (select from metering.exports where is_noting) then return null; end if;
  insert into metering.export_changes (queue, request_id, former)
  select export.queue, replaced.request_id, to_jsonb(replaced)
  from replaced cross join metering.exports export where export.is_noting;
  return null;
end
$$;

create trigger note_exports after insert on metering.ledger
  referencing new table as written
  for each statement execute function metering.note_exports();
create trigger note_export_changes after update on metering.ledger
  referencing old table as replaced
  for each statement execute function metering.note_export_changes();
