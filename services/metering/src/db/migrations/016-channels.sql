-- When each webhook, and e-mail, was first configured: it gets no event from before.
create table metering.channels (
  channel text primary key,
  configured_at timestamptz not null
);
insert into metering.channels (channel, configured_at)
select channel, min(created_at) from metering.deliveries group by channel;
