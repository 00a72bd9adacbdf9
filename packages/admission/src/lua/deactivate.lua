-- The key is dead from now on. The mark outlasts every fill that was under way.
--
-- ARGV  3 key hash, 4 version

local field = key_field(ARGV[3])
local held = redis.call('HMGET', ACCOUNT, 'epoch', field)
is_of_this_life(held[1])
local known = parse_key_state(held[2])
write_key(field, max(tonumber(ARGV[4]), known and known.version or 0), false)
keep_account()
return {}
