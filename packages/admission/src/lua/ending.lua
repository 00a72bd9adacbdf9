-- What becomes of requests that have ended: for the scripts that end them.

-- How long it is known what the bucket holds of a request that is over. The ledger is told of a request within seconds,
-- and its two reporters within moments of each other.
local OVER_KEPT_MS = 10 * MINUTE_MS

-- Keeps what the bucket holds of a request that is over.
local function keep_over(use, request, window, tokens, version)
  local forget_at = NOW_MS + OVER_KEPT_MS
  redis.call('HSET', USE, request_field(request), over_record(window, tokens, version))
  redis.call('ZADD', LEASES, forget_at, request)
  redis.call('PEXPIRE', LEASES, keep_until(use) - NOW_MS)
  use.next_lapse = min(use.next_lapse, forget_at)
end

-- The bucket holds this much of the request from now on.
local function correct_bucket(use, record, tokens)
  if not use.level or not record.tokens or record.tokens == tokens then return end
  local corrected = bucket_level(use, use.tpm) + (record.tokens - tokens) * BUCKET_SCALE
  use.level, use.level_at = min(use.tpm * BUCKET_SCALE, corrected), NOW_MS
end
