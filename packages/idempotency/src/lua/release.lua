-- Frees the key, unless another request has it by now.
--
-- ARGV  3 request

local found = redis.call('HMGET', RECORD, 'request', 'lapses')
if found[1] ~= ARGV[3] then return 0 end
if not found[2] then
  local bytes = redis.call('HSTRLEN', RECORD, 'answer')
  if redis.call('ZREM', KEPT, bytes .. ' ' .. RECORD) == 1 then redis.call('DECRBY', BYTES, bytes) end
end
return redis.call('DEL', RECORD)
