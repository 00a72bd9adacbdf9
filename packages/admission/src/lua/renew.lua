-- Keeps running requests of one account. One that is no longer held is held again where the caller says what it may
-- cost: its lease has lapsed, or the store has lost it. Of one that the store has lost, the bucket holds nothing, and its
-- end corrects nothing. One that the ledger includes is not held again.
--
-- Answers { released leases, ids that are not held... }.

local use, released = open_use({})
local answer, kept, held_again = { released }, {}, {}
for at = RECORDS, #ARGV, RECORD do
  local request, worst, window = ARGV[at + OF_REQUEST], ARGV[at + OF_WORST_CHARGE], ARGV[at + OF_WINDOW]
  local text = redis.call('HGET', USE, request_field(request))
  local record = text and parse_record(text)
  local running = held_again[request] or (record and record.running)
  local may_be_held = not record or (record.over and record.version < 0)
  if not running and may_be_held and worst ~= '' then
    held_again[request] = true
    if window == '' then window = WINDOW end
    write_record(use, request, running_record(window, worst, record and record.tokens and int(record.tokens) or '-'))
    if window == WINDOW then use.running = use.running + worst end
    running = true
  end
  if running then
    kept[#kept + 1] = request
  else
    answer[#answer + 1] = request
  end
end

if #kept > 0 then
  save_leases(use, kept, NOW_MS + LEASE_MS)
else
  save_upkeep(use)
end
return answer
