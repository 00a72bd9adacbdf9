-- In a new month, or on a server that may have forgotten something, the total is unknown. Running requests stay, each in its own
-- month. Ended ones go. Those of a former month stand in nobody's way. The ledger may already have reported those of an old
-- snapshot, so that nothing would ever remove them.

-- include epoch
-- include records
-- include sums-of-keys
-- include unpack-meter
-- include pack-meter

-- A new month begins for the meters among a use's fields. `empty`: with nothing used.
local function begin_meters(held, empty)
  -- Nothing of the meter matters any more: it was not used yesterday or today, and owes no tokens.
  local function is_idle(meter)
    local full = meter.tpm * BUCKET_SCALE
    local is_full = not meter.level or meter.level + max(0, NOW_MS - meter.level_at) * meter.tpm >= full
    return meter.day < TODAY - 1 and is_full
  end

  local sums = nil
  for i = 1, #held, 2 do
    local field = held[i]
    if string.sub(field, 1, 4) == 'key:' or string.sub(field, 1, 6) == 'model:' then
      local meter = unpack_meter(held[i + 1])
      if is_idle(meter) then
        redis.call('HDEL', USE, field)
      else
        local is_known = empty and meter.known == 1
        sums = sums or sums_of_keys(held)
        local counted = is_known and sums[field] or { running = 0, ended = 0 }
        meter.known, meter.settled, meter.version = is_known and 1 or 0, 0, is_known and 0 or -1
        meter.running, meter.ended = counted.running, counted.ended
        redis.call('HSET', USE, field, pack_meter(meter))
      end
    end
  end
end

-- Nothing is used where this epoch knew the account's total, and has seen no window as late as this one. So nobody was admitted
-- to it, and metering has reported no total of it.
local forgetful, empty = not is_of_this_epoch(epoch), epoch == EPOCH and known and WINDOW > latest
local held = redis.call('HGETALL', USE)
running, ended = 0, 0
for i = 1, #held, 2 do
  if string.sub(held[i], 1, 8) == 'request:' then
    local record = parse_record(held[i + 1])
    local of_this_window = record.window == WINDOW
    if record.running then
      if of_this_window then running = running + record.amount end
    elseif record.over then
      -- Goes by its own time.
    elseif forgetful or not of_this_window then
      redis.call('HDEL', USE, held[i])
    else
      ended = ended + record.amount
    end
  end
end
begin_meters(held, empty)
if forgetful or WINDOW > latest then latest = WINDOW end
epoch, window, known, settled, version = EPOCH, WINDOW, empty, 0, empty and 0 or -1
changed = true
