-- A change that ends a key names its ticket. A mint that returns the key takes the ticket away, and with it every such
-- change that is still on its way.
alter table keys.keys add column end_ticket uuid;
