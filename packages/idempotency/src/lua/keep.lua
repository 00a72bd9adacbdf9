-- Keeps the response of a claim, and the account's responses within their bounds: the oldest go first.
--
-- Returns 1, or 0 where another request has the key by now.

local FOR_MS, ACCOUNT_BYTES = tonumber(FOR_MS), tonumber(ACCOUNT_BYTES)

local found = redis.call('HMGET', HASH, 'request', 'lapses')
if found[1] and found[1] ~= REQUEST then return 0 end
if found[1] and not found[2] then return 1 end

-- So many expired ones go in one call. An account may have kept a hundred thousand within the same hour.
local GO_AT_ONCE = 100

-- The record goes only where it is still the one that was listed.
local function forget(member)
  local bytes, record = string.match(member, '^(%d+) (.*)$')
  bytes = tonumber(bytes)
  if redis.call('HSTRLEN', record, 'answer') == bytes then redis.call('DEL', record) end
  redis.call('ZREM', KEPT, member)
  return bytes
end

redis.call('HSET', HASH, 'request', REQUEST, 'owner', OWNER, 'fingerprint', FINGERPRINT, 'answer', RESPONSE)
redis.call('HDEL', HASH, 'lapses')
redis.call('PEXPIRE', HASH, FOR_MS)

-- Where Redis dropped one of the two for want of memory, the other says nothing. The listed records expire by themselves.
local bytes = 0
if redis.call('EXISTS', KEPT, BYTES) == 2 then bytes = tonumber(redis.call('GET', BYTES)) else redis.call('DEL', KEPT) end
-- The list has it already where Redis dropped its record.
if redis.call('ZADD', KEPT, NOW_MS + FOR_MS, #RESPONSE .. ' ' .. HASH) == 1 then bytes = bytes + #RESPONSE end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEPT, '-inf', NOW_MS, 'LIMIT', 0, GO_AT_ONCE)) do
  bytes = bytes - forget(member)
end
while bytes > ACCOUNT_BYTES do
  bytes = bytes - forget(redis.call('ZRANGE', KEPT, 0, 0)[1])
end
redis.call('SET', BYTES, bytes, 'PX', FOR_MS)
redis.call('PEXPIRE', KEPT, FOR_MS)
return 1
