-- Frees the key, unless another request has it by now.

local found = redis.call('HMGET', HASH, 'request', 'lapses')
if found[1] ~= REQUEST then return 0 end
if not found[2] then
  local bytes = redis.call('HSTRLEN', HASH, 'answer')
  if redis.call('ZREM', KEPT, bytes .. ' ' .. HASH) == 1 then redis.call('DECRBY', BYTES, bytes) end
end
return redis.call('DEL', HASH)
