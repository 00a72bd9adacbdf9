-- The key is dead from now on. The mark outlasts every fill that was under way.
--
-- ARGV  3 key hash, 4 version

local field = key_field(ARGV[3])
local known = parse_key_state(redis.call('HGET', ACCOUNT, field))
write_key(field, max(tonumber(ARGV[4]), known and known.version or 0), false)
keep_account()
return {}
