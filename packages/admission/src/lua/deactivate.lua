-- The key is dead from now on. The mark outlasts every fill that was under way.

-- include account

local field = key_field(KEY_HASH)
local held = redis.call('HMGET', ACCOUNT, 'epoch', field)
is_of_this_epoch(held[1])
local known = parse_key_state(held[2])
write_key(field, max(tonumber(VERSION), known and known.version or 0), false, '')
keep_account()
return {}
