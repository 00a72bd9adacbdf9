-- A request ended: its reservation becomes its actual charge, its tokens correct the bucket. Where its lease had lapsed
-- they still do; its charge is then the ledger's to tell. Nothing happens when the ledger had it first.
--
-- ARGV  3 request id, 4 charge, 5 tokens
-- Answers { released leases }.

local REQUEST, CHARGE, TOKENS = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])

local use, released, record = open_use(REQUEST)
local lapsed = record and record.over and record.version < 0
if not record or not (record.running or lapsed) then
  save_upkeep(use)
  return { released }
end

correct_bucket(use, record, TOKENS)
local tokens = record.tokens and TOKENS
if lapsed then
  save_use(use, request_field(REQUEST), over_record(record.window, tokens, -1))
  return { released }
end

local of_this_window = record.window == WINDOW
if of_this_window then use.running = use.running - record.amount end
-- What costs nothing, or belongs to a month that is over, stands in nobody's way.
if of_this_window and CHARGE > 0 then
  redis.call('ZREM', LEASES, REQUEST)
  use.ended = use.ended + CHARGE
  save_use(use, request_field(REQUEST), 'ended ' .. WINDOW .. ' ' .. ARGV[4] .. ' ' .. (tokens and ARGV[5] or '-'))
else
  keep_over(use, REQUEST, record.window, tokens, -1)
  save_use(use)
end
return { released }
