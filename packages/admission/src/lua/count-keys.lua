-- include sums-of-keys
-- Counts the sums of all keys again from the records.
local function count_keys()
  local stored_fields = redis.call('HGETALL', USE)
  local sums = sums_of_keys(stored_fields)
  for i = 1, #stored_fields, 2 do
    local field = stored_fields[i]
    if string.sub(field, 1, 4) == 'key:' then
      local meter = find_meter(field)
      local counted = meter.known == 1 and sums[field] or { running = 0, ended = 0 }
      meter.running, meter.ended = counted.running, counted.ended
      change_meter(field, meter)
    end
  end
end
