-- The usage of the kept answer is stored.
--
-- ARGV  3 request

local found = redis.call('HMGET', RECORD, 'request', 'lapses')
if found[1] == ARGV[3] and not found[2] then redis.call('HSET', RECORD, 'settled', 1) end
return 1
