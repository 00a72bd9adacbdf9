-- Keeps running requests of one account. One that is no longer held is held again where the caller says what it may
-- cost: the store may have lost it. Its tokens are not corrected at its end, since nothing is reserved for it.
--
-- ARGV  3 lease (ms), then for each request: id, worst charge or '', window
-- Answers { released leases, ids that are not held... }.

local LEASE_MS = tonumber(ARGV[3])

local use, released = open_use()
local answer, kept, again, held_again = { released }, {}, {}, {}
for i = 4, #ARGV, 3 do
  local request, worst, window = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local text = redis.call('HGET', USE, request_field(request))
  local running = held_again[request] or (text and parse_record(text).running)
  if not running and not text and worst ~= '' then
    held_again[request] = true
    if window == '' then window = WINDOW end
    again[#again + 1] = request_field(request)
    again[#again + 1] = running_record(window, worst, '-')
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
  save_leases(use, kept, NOW_MS + LEASE_MS, unpack(again))
else
  save_upkeep(use)
end
return answer
