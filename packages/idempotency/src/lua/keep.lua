-- Keeps the answer of a claim, and the account's answers within their bounds: the oldest go first.
--
-- Answers 1, or 0 where another request has the key by now.

local FOR_MS, ACCOUNT_BYTES = tonumber(FOR_MS), tonumber(ACCOUNT_BYTES)

local found = redis.call('HMGET', HASH, 'request', 'lapses')
if found[1] and found[1] ~= REQUEST then return 0 end
if found[1] and not found[2] then return 1 end

local function forget(member)
  local bytes, record = string.match(member, '^(%d+) (.*)$')
  redis.call('DEL', record)
  redis.call('ZREM', KEPT, member)
  return tonumber(bytes)
end

redis.call('HSET', HASH, 'request', REQUEST, 'owner', OWNER, 'fingerprint', FINGERPRINT, 'answer', ANSWER)
redis.call('HDEL', HASH, 'lapses')
redis.call('PEXPIRE', HASH, FOR_MS)

local bytes = tonumber(redis.call('GET', BYTES) or 0)
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEPT, '-inf', NOW_MS)) do
  bytes = bytes - tonumber(string.match(member, '^%d+'))
  redis.call('ZREM', KEPT, member)
end
-- It stands there already where Redis dropped its record for want of memory.
if redis.call('ZADD', KEPT, NOW_MS + FOR_MS, #ANSWER .. ' ' .. HASH) == 1 then bytes = bytes + #ANSWER end
while bytes > ACCOUNT_BYTES do
  bytes = bytes - forget(redis.call('ZRANGE', KEPT, 0, 0)[1])
end
redis.call('SET', BYTES, bytes, 'PX', FOR_MS)
redis.call('PEXPIRE', KEPT, FOR_MS)
return 1
