-- Returns the sums of the present window's records by the field of their key, from the fields and texts of a use.
local function sums_of_keys(fields)
  local sums = {}
  for i = 1, #fields, 2 do
    local record = string.sub(fields[i], 1, 8) == 'request:' and parse_record(fields[i + 1])
    if record and record.key and record.window == WINDOW and not record.over then
      local sum, of_key = record.running and 'running' or 'ended', sums[record.key] or { running = 0, ended = 0 }
      of_key[sum], sums[record.key] = of_key[sum] + record.amount, of_key
    end
  end
  return sums
end
