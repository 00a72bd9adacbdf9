-- The usage of the kept response is stored.

local found = redis.call('HMGET', HASH, 'request', 'lapses')
if found[1] == REQUEST and not found[2] then redis.call('HSET', HASH, 'settled', 1) end
return 1
