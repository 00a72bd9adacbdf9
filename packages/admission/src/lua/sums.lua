-- Sums of the account and of its keys, which change along with each record.

-- include unpack-meter
local function find_meter(field)
  local meter = meters[field]
  if meter == nil then
    meter = unpack_meter(redis.call('HGET', USE, field))
    meters[field] = meter
  end
  return meter
end

local function change_meter(field, meter)
  changed_meters = changed_meters or {}
  meters[field], changed_meters[field], changed = meter, meter, true
  if string.sub(field, 1, 4) == 'key:' then metered = true end
end

-- Adds to a sum of the account, 'running' or 'ended', and to that of the record's key.
local function add_to_sum(record, sum, amount)
  if sum == 'running' then running = running + amount else ended = ended + amount end
  local meter = record.key and metered and find_meter(record.key)
  if meter and meter.known == 1 then
    meter[sum] = meter[sum] + amount
    change_meter(record.key, meter)
  end
end
