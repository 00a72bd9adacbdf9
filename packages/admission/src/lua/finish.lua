-- A request ended: its reservation becomes its actual charge, its tokens correct the bucket.
-- Nothing happens when it is not held: the ledger had it first, or its lease had lapsed.
--
-- ARGV  3 request id, 4 charge, 5 tokens
-- Answers { released leases }.

local REQUEST, CHARGE, TOKENS = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])

local use, released, record = open_use(REQUEST)
if not record or not record.running then
  save_upkeep(use)
  return { released }
end

redis.call('ZREM', LEASES, REQUEST)
if use.level and record.reserved then
  local corrected = bucket_level(use, use.tpm) + (record.reserved - TOKENS) * BUCKET_SCALE
  use.level, use.level_at = min(use.tpm * BUCKET_SCALE, corrected), NOW_MS
end
local of_this_window = record.window == WINDOW
if of_this_window then use.running = use.running - record.amount end
-- What costs nothing, or belongs to a month that is over, stands in nobody's way.
if of_this_window and CHARGE > 0 then
  use.ended = use.ended + CHARGE
  save_use(use, request_field(REQUEST), ended_record(WINDOW, ARGV[4]))
else
  redis.call('HDEL', USE, request_field(REQUEST))
  save_use(use)
end
return { released }
