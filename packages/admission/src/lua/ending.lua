-- Ends `request` by its `record`, or none: its reservation becomes its actual `charge`, and its `tokens` correct the bucket. Both
-- are text, as in ARGV. Where its lease had lapsed they still do; the ledger then reports its charge. Nothing happens when the
-- ledger had it first. The record changes along, so that an end which is reported twice in one call counts once.
local lapsed = record and record.over and record.version < 0
if record and (record.running or lapsed) then
  changed = true
  -- A request that costs nothing, or belongs to a month that is over, stands in nobody's way.
  local counts, cost = record.running and record.window == WINDOW, charge + 0
  local returned = record.tokens and record.tokens - tokens or 0
  if level and returned ~= 0 then
    local full = tpm * BUCKET_SCALE
    local now = NOW_MS > level_at and min(full, level + (NOW_MS - level_at) * tpm) or min(full, level)
    level, level_at = min(full, now + returned * BUCKET_SCALE), NOW_MS
  end
  if counts then running, ended = running - record.amount, ended + cost end
  local in_model = returned ~= 0 and record.in_model
  local of_key = metered and record.key or returned ~= 0 and record.in_key
  if of_key or in_model then
    -- include give-back
    if of_key and meters[of_key] == nil or in_model and meters[in_model] == nil then
      -- include unpack-meter
      local texts = redis.call('HMGET', USE, of_key or in_model, in_model or of_key)
      if of_key and meters[of_key] == nil then meters[of_key] = unpack_meter(texts[1]) end
      if in_model and meters[in_model] == nil then meters[in_model] = unpack_meter(texts[2]) end
    end
    changed_meters = changed_meters or {}
    local meter = of_key and meters[of_key]
    if meter then
      if returned ~= 0 and record.in_key then give_back(meter, returned) end
      if counts and metered and meter.known == 1 then
        meter.running, meter.ended = meter.running - record.amount, meter.ended + cost
      end
      changed_meters[of_key], metered = meter, true
    end
    meter = in_model and meters[in_model]
    if meter then
      give_back(meter, returned)
      changed_meters[in_model] = meter
    end
  end

  record.running = false
  if record.tokens then record.tokens = tokens + 0 end
  local count = #writes
  if lapsed then
    -- include over
    writes[count + 1], writes[count + 2] = 'request:' .. request, over_record(record, record.tokens, -1)
  elseif counts and cost > 0 then
    unleased = unleased or {}
    unleased[#unleased + 1] = request
    writes[count + 1], writes[count + 2] = 'request:' .. request,
      'ended ' .. WINDOW .. ' ' .. charge .. ' ' .. (record.tokens and tokens or '-') .. record.of
  else
    -- include keep-over
    record.over, record.version = true, -1
    keep_over(request, record, record.tokens, -1)
  end
end
