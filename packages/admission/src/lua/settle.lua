-- Takes the window's total from the ledger, and the requests that it now includes, with the ledger's tokens of each. The bucket
-- holds these tokens from now on, however the request ended. The same report again changes nothing.
--
-- Returns { released leases }.

local TOTAL, TOTAL_VERSION, READ_AT_ONCE = tonumber(SETTLED), tonumber(VERSION), 500

-- include clock
local fields = { 'state' }
-- include open
-- include records
-- include sums
-- include new-meter
-- include buckets
-- include keep-over

local function save()
  -- include save
end

-- The store keeps totals only of keys that it meters. It may have dropped a newer one of a key that it did not meter.
local function take_key_totals(totals)
  local begins = false
  project = true
  for _, total in ipairs(totals) do
    local field = 'key:' .. total[1]
    local meter = find_meter(field)
    if not meter and MAKES_KNOWN == '1' and TOTAL_VERSION >= version then meter = new_meter() end
    if meter then
      if TOTAL_VERSION > meter.version then meter.settled, meter.version = total[2], TOTAL_VERSION end
      if MAKES_KNOWN == '1' and meter.known == 0 then meter.known, begins = 1, true end
      change_meter(field, meter)
    end
  end
  return begins
end

for first = RECORDS, #ARGV, RECORD * READ_AT_ONCE do
  local included, gone, not_leased = {}, {}, {}
  for at = first, min(first + RECORD * READ_AT_ONCE - 1, #ARGV), RECORD do
    included[#included + 1] = 'request:' .. ARGV[at + OF_REQUEST]
  end
  for i, text in ipairs(redis.call('HMGET', USE, unpack(included))) do
    local record = text and parse_record(text)
    if record then
      local at = first + RECORD * (i - 1)
      local id, tokens = ARGV[at + OF_REQUEST], tonumber(ARGV[at + OF_TOKENS])
      local may_change = ARGV[at + OF_MAY_CHANGE] == '1'
      if record.window == WINDOW and not record.over then
        add_to_sum(record, record.running and 'running' or 'ended', -record.amount)
      end
      -- A report that was overtaken by a newer one knows less.
      local is_older = may_change and record.over and record.version > TOTAL_VERSION
      if tokens and not is_older then correct_buckets(record, tokens) end
      if is_older then
        -- Stays as it is.
      elseif may_change and record.tokens then
        keep_over(id, record, tokens or record.tokens, TOTAL_VERSION)
      else
        gone[#gone + 1] = included[i]
        if record.running or record.over then not_leased[#not_leased + 1] = id end
      end
    end
  end
  if #gone > 0 then redis.call('HDEL', USE, unpack(gone)) end
  if #not_leased > 0 then redis.call('ZREM', LEASES, unpack(not_leased)) end
end

-- A window that has a total before it begins does not begin with nothing.
if TOTAL_WINDOW > latest then latest = TOTAL_WINDOW end
if TOTAL_WINDOW == WINDOW then
  if TOTAL_VERSION > version then settled, version = TOTAL, TOTAL_VERSION end
  if MAKES_KNOWN == '1' then known = true end
  -- Requests of a key whose total was unknown did not count.
  if KEY_TOTALS ~= '' and take_key_totals(cjson.decode(KEY_TOTALS)) then
    save()
    -- include count-keys
    count_keys()
  end
end
save()
return { released }
