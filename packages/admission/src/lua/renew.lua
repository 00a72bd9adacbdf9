-- Keeps running requests of one account. One that is no longer held is held again where the caller says what it may
-- cost: the store may have lost it. Its tokens are not corrected at its end, since nothing is reserved for it.
--
-- ARGV  3 lease (ms), then for each request: id, worst charge or '', window
-- Answers { released leases, ids that are not held... }.

local LEASE_MS = tonumber(ARGV[3])

local use, released = open_use()
local answer = { released }
local held_any = false
for i = 4, #ARGV, 3 do
  local request, worst, window = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local text = redis.call('HGET', REQUESTS, request)
  local running = text and parse_record(text).running
  if not text and worst ~= '' then
    if window == '' then window = WINDOW end
    redis.call('HSET', REQUESTS, request, running_record(window, worst, '-'))
    if window == WINDOW then use.running = use.running + worst end
    running = true
  end
  if running then
    redis.call('ZADD', LEASES, NOW_MS + LEASE_MS, request)
    held_any = true
  else
    answer[#answer + 1] = request
  end
end
if held_any or use.changed then save_use(use) end
return answer
