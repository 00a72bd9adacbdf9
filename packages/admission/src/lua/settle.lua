-- Takes the window's total from the ledger, and the requests that it now includes, with the ledger's tokens of each. The bucket
-- holds these tokens from now on, however the request ended. The same report again changes nothing.
--
-- Returns { released leases }.

local SETTLED, VERSION = tonumber(SETTLED), tonumber(VERSION)

local use, released = open_use({})

for first = RECORDS, #ARGV, RECORD * READ_AT_ONCE do
  local fields, gone, not_leased = {}, {}, {}
  for at = first, min(first + RECORD * READ_AT_ONCE - 1, #ARGV), RECORD do
    fields[#fields + 1] = request_field(ARGV[at + OF_REQUEST])
  end
  for i, text in ipairs(redis.call('HMGET', USE, unpack(fields))) do
    local record = text and parse_record(text)
    if record then
      local at = first + RECORD * (i - 1)
      local id, tokens = ARGV[at + OF_REQUEST], tonumber(ARGV[at + OF_TOKENS])
      local may_change = ARGV[at + OF_MAY_CHANGE] == '1'
      if record.window == WINDOW and not record.over then
        local sum = record.running and 'running' or 'ended'
        use[sum] = use[sum] - record.amount
      end
      -- A report that was overtaken by a newer one knows less.
      local is_older = may_change and record.over and record.version > VERSION
      if tokens and not is_older then correct_bucket(use, record, tokens) end
      if is_older then
        -- Stays as it is.
      elseif may_change and record.tokens then
        keep_over(use, id, record.window, tokens or record.tokens, VERSION)
      else
        gone[#gone + 1] = fields[i]
        if record.running or record.over then not_leased[#not_leased + 1] = id end
      end
    end
  end
  if #gone > 0 then redis.call('HDEL', USE, unpack(gone)) end
  if #not_leased > 0 then redis.call('ZREM', LEASES, unpack(not_leased)) end
end

-- A window that has a total before it begins does not begin with nothing.
use.latest = max_window(use.latest, TOTAL_WINDOW)
if TOTAL_WINDOW == WINDOW then
  if VERSION > use.version then use.settled, use.version = SETTLED, VERSION end
  if MAKES_KNOWN == '1' then use.known = true end
end
save_use(use)
return { released }
