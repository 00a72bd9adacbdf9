-- The window's total from the ledger, and the requests that it now includes.
--
-- ARGV  3 window, 4 settled, 5 version, 6 whether the total was asked for and makes the window known (1 or 0),
--       then the ids of the included requests
-- Answers { released leases }.

local SETTLED, VERSION = tonumber(ARGV[4]), tonumber(ARGV[5])

local use, released = open_use()

for first = 7, #ARGV, READ_AT_ONCE do
  local last = min(first + READ_AT_ONCE - 1, #ARGV)
  local ids, fields, running = { unpack(ARGV, first, last) }, {}, {}
  for i, id in ipairs(ids) do fields[i] = request_field(id) end
  for i, text in ipairs(redis.call('HMGET', USE, unpack(fields))) do
    local record = text and parse_record(text)
    if record and record.running then running[#running + 1] = ids[i] end
    if record and record.window == WINDOW then
      local sum = record.running and 'running' or 'ended'
      use[sum] = use[sum] - record.amount
    end
  end
  redis.call('HDEL', USE, unpack(fields))
  if #running > 0 then redis.call('ZREM', LEASES, unpack(running)) end
end

-- A window that has a total before it begins does not begin with nothing.
use.latest = max_window(use.latest, ARGV[3])
if ARGV[3] == WINDOW then
  if VERSION > use.version then use.settled, use.version = SETTLED, VERSION end
  if ARGV[6] == '1' then use.known = true end
end
save_use(use)
return { released }
