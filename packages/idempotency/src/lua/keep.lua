-- Keeps the answer of a claim, and the account's answers within their bounds: the oldest go first.
--
-- ARGV  3 request, 4 owner, 5 fingerprint, 6 answer, 7 for how long (ms), 8 bytes for the account
-- Answers 1, or 0 where another request has the key by now.

local REQUEST, ANSWER, FOR_MS, ACCOUNT_BYTES = ARGV[3], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])

local found = redis.call('HMGET', RECORD, 'request', 'lapses')
if found[1] and found[1] ~= REQUEST then return 0 end
if found[1] and not found[2] then return 1 end

local function forget(member)
  local bytes, record = string.match(member, '^(%d+) (.*)$')
  redis.call('DEL', record)
  redis.call('ZREM', KEPT, member)
  return tonumber(bytes)
end

redis.call('HSET', RECORD, 'request', REQUEST, 'owner', ARGV[4], 'fingerprint', ARGV[5], 'answer', ANSWER)
redis.call('HDEL', RECORD, 'lapses')
redis.call('PEXPIRE', RECORD, FOR_MS)

local bytes = tonumber(redis.call('GET', BYTES) or 0) + #ANSWER
redis.call('ZADD', KEPT, NOW_MS + FOR_MS, #ANSWER .. ' ' .. RECORD)
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEPT, '-inf', NOW_MS)) do
  bytes = bytes - tonumber(string.match(member, '^%d+'))
  redis.call('ZREM', KEPT, member)
end
while bytes > ACCOUNT_BYTES do
  bytes = bytes - forget(redis.call('ZRANGE', KEPT, 0, 0)[1])
end
redis.call('SET', BYTES, bytes, 'PX', FOR_MS)
redis.call('PEXPIRE', KEPT, FOR_MS)
return 1
