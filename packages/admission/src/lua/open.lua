-- Opens the use as of now, with `fields` of its hash, of which the first is 'state'. Their texts are in `stored`. `released`:
-- the number of leases that have lapsed.

local stored = redis.call('HMGET', USE, unpack(fields))
-- include state
-- include meter
-- Meters of keys and models by field (false: none), those that changed, fields with texts that are not yet written, and ids
-- that leave the leases.
local changed, meters, changed_meters, writes, unleased = false, {}, nil, {}, nil
if epoch ~= EPOCH or window ~= WINDOW then
  -- include month
end
local released = 0
if NOW_MS >= next_lapse then
  -- include lapse
end
local ran_before = running
-- They may be among those that went.
if changed then stored = redis.call('HMGET', USE, unpack(fields)) end
