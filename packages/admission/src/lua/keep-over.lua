-- include over
-- Keeps the record of a request that is over, with its tokens in the bucket. The ledger learns of a request within seconds. Its
-- two reporters report within moments of each other.
local function keep_over(request, record, tokens, of_version)
  local OVER_KEPT_MS = 10 * MINUTE_MS
  local forget_at = NOW_MS + OVER_KEPT_MS
  redis.call('HSET', USE, 'request:' .. request, over_record(record, tokens, of_version))
  redis.call('ZADD', LEASES, forget_at, request)
  -- include keep-until
  redis.call('PEXPIRE', LEASES, until_ms - NOW_MS)
  next_lapse = min(next_lapse, forget_at)
end
