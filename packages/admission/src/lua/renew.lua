-- Keeps running requests of one account. One whose lease has lapsed, or that the store has lost, is held again where the caller
-- gives its worst charge. The bucket holds nothing of a request that the store has lost, so its end corrects nothing. One that
-- the ledger includes is not held again.
--
-- Returns { released leases, ids that are not held... }.

local use, released = open_use({})
local reply, kept, held_again = { released }, {}, {}
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
    reply[#reply + 1] = request
  end
end

if #kept > 0 then
  save_leases(use, kept, NOW_MS + LEASE_MS)
else
  save_upkeep(use)
end
return reply
