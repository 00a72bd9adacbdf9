-- Gives up running requests that nobody renewed, and forgets those that were over long enough. Counts those given up in
-- `released`. Nobody knows a backend's work for a request that is given up. So the bucket holds its reserved tokens until the
-- ledger reports them.

-- Leases released in one call; more wait for the next, counted as pending until then.
local RELEASE_AT_MOST = '500'
local NEVER_MS = 9e15
-- The record of a request whose lease has lapsed, with its tokens in the bucket, stays for so long. Its report may wait for a
-- metering service that is away.
local LAPSED_KEPT_MS = 60 * MINUTE_MS

local due = redis.call('ZRANGEBYSCORE', LEASES, '-inf', NOW_MS, 'WITHSCORES', 'LIMIT', '0', RELEASE_AT_MOST)
local count = #due / 2
local later = redis.call('ZRANGE', LEASES, count, count, 'WITHSCORES')
next_lapse, changed = later[2] and tonumber(later[2]) or NEVER_MS, true
if count > 0 then
  -- include records
  -- include over
  -- include sums
  local ids, lapsed_fields, gone, gone_fields = {}, {}, {}, {}
  for i = 1, count do ids[i], lapsed_fields[i] = due[2 * i - 1], 'request:' .. due[2 * i - 1] end
  for i, text in ipairs(redis.call('HMGET', USE, unpack(lapsed_fields))) do
    local record, forget_at = text and parse_record(text), due[2 * i] + LAPSED_KEPT_MS
    if record and record.running then
      released = released + 1
      if record.window == window then add_to_sum(record, 'running', -record.amount) end
    end
    if record and record.running and record.tokens and forget_at > NOW_MS then
      redis.call('HSET', USE, lapsed_fields[i], over_record(record, record.tokens, -1))
      redis.call('ZADD', LEASES, forget_at, ids[i])
      next_lapse = min(next_lapse, forget_at)
    else
      gone[#gone + 1], gone_fields[#gone_fields + 1] = ids[i], lapsed_fields[i]
    end
  end
  if #gone > 0 then
    redis.call('HDEL', USE, unpack(gone_fields))
    redis.call('ZREM', LEASES, unpack(gone))
  end
end
