-- The backends that an operator has taken out. Routers read all rows a few times a second.

create table keys.backend_controls (
  backend text collate "C" primary key,
  control text not null check (control in ('ejected', 'drained')),
  changed_at timestamptz not null default now()
);
