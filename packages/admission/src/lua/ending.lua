-- Ends requests, for the scripts that report ends.

-- The record of a request that is over, with its tokens in the bucket, stays for so long. The ledger learns of a request within
-- seconds. Its two reporters report within moments of each other.
local OVER_KEPT_MS = 10 * MINUTE_MS

-- Keeps the record of a request that is over, with its tokens in the bucket.
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

-- Ends a request (or none): its reservation becomes its actual charge, and its tokens correct the bucket. Where its lease had
-- lapsed they still do; the ledger then reports its charge. Nothing happens when the ledger had it first. The record changes
-- along, so that an end which is reported twice in one call counts once.
local function end_request(use, request, record, charge, tokens)
  local lapsed = record and record.over and record.version < 0
  if not record or not (record.running or lapsed) then return end
  use.changed = true
  correct_bucket(use, record, tokens)
  record.tokens = record.tokens and tokens
  if lapsed then
    write_record(use, request, over_record(record.window, record.tokens, -1))
    return
  end

  local of_this_window = record.window == WINDOW
  if of_this_window then use.running = use.running - record.amount end
  record.running = false
  -- A request that costs nothing, or belongs to a month that is over, stands in nobody's way.
  if of_this_window and charge > 0 then
    use.ended = use.ended + charge
    use.unleased[#use.unleased + 1] = request
    local kept_tokens = record.tokens and int(record.tokens) or '-'
    write_record(use, request, 'ended ' .. WINDOW .. ' ' .. int(charge) .. ' ' .. kept_tokens)
  else
    record.over, record.version = true, -1
    keep_over(use, request, record.window, record.tokens, -1)
  end
end
