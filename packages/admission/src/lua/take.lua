-- Takes what an admitted request needs: its place in the logs, its tokens in the buckets, and its worst charge in the sums.

-- Two in the same microsecond differ in the number of members before them.
redis.call('ZADD', LOG, NOW_US_TEXT, NOW_US_TEXT .. ':' .. logged)
if logged == 0 or log_until < NOW_MS + MINUTE_MS then
  log_until, changed = NOW_MS + 2 * MINUTE_MS, true
  redis.call('PEXPIRE', LOG, 2 * MINUTE_MS)
end
logged, requests_reset_ms = logged + 1, MINUTE_MS
if others then
  local entry = struct.pack('>d', NOW_US)
  for i = 1, #others do
    local other = others[i]
    if other.rpm >= 0 then
      local meter, log = other.meter, other.log
      meter.logged, meter.tail = meter.logged + 1, meter.tail .. entry
      if #meter.tail >= 64 or meter.log_until < NOW_MS + MINUTE_MS then
        -- include logs
        keep_log(meter, log)
      end
      if of_request then
        changed_meters = changed_meters or {}
        if meter.day ~= TODAY then meter.day, meter.day_count = TODAY, 0 end
        meters[other.field], changed_meters[other.field], is_taken = meter, meter, true
        if other.bucket == 'k' then metered = true end
      end
    end
  end
end

if not of_request then
  level_now, is_taken = level_now - usual * BUCKET_SCALE, true
  level, level_at, tpm = level_now, NOW_MS, TPM
  -- Also where no limit needs it: one that is set later counts them.
  count_today = count_today + 1
  day, day_count = TODAY, count_today
  -- Admitted, over and admitted again: the buckets hold both.
  local again, buckets = held and held.tokens or 0, ''
  local worst, of_key = WORST_CHARGE + 0, nil
  if others then
    changed_meters = changed_meters or {}
    for i = 1, #others do
      local other = others[i]
      local meter, field = other.meter, other.field
      if other.tpm >= 0 then
        local is_in = again ~= 0 and (held.in_key == field or held.in_model == field)
        local taken = is_in and usual or usual + again
        other.level = other.level - taken * BUCKET_SCALE
        meter.level, meter.level_at, meter.tpm = other.level, NOW_MS, other.tpm
        buckets = buckets .. other.bucket
      end
      meter.day, meter.day_count = TODAY, meter.day == TODAY and meter.day_count + 1 or 1
      meters[field], changed_meters[field] = meter, meter
      if other.bucket == 'k' then metered, of_key = true, meter end
    end
  end
  -- The buckets that held the request by its former key or model hold it no more.
  if again ~= 0 then
    -- include sums
    -- include buckets
    local in_key = string.find(buckets, 'k', 1, true) and 'key:' .. key_id
    local in_model = string.find(buckets, 'm', 1, true) and 'model:' .. MODEL
    if held.in_key ~= in_key then correct_meter(held.in_key, again, 0) end
    if held.in_model ~= in_model then correct_meter(held.in_model, again, 0) end
  end

  local of = ''
  if limited then
    of = ' ' .. (buckets == '' and '-' or buckets) .. ' ' .. key_id
    if string.find(buckets, 'm', 1, true) then of = of .. ' ' .. MODEL end
  end
  running = running + worst
  -- Metering may know the total of a key without limits.
  if limited and metered and not of_key then
    -- include sums
    of_key = find_meter('key:' .. key_id)
    if of_key and of_key.known == 1 then change_meter('key:' .. key_id, of_key) end
  end
  if of_key and of_key.known == 1 then of_key.running = of_key.running + worst end
  local count = #writes
  writes[count + 1], writes[count + 2] = 'request:' .. REQUEST,
    'running ' .. WINDOW .. ' ' .. WORST_CHARGE .. ' ' .. (again ~= 0 and int(usual + again) or USUAL_TOKENS) .. of
  local lapses_at = NOW_MS + LEASE_MS
  if lapses_at < next_lapse then next_lapse = lapses_at end
  redis.call('ZADD', LEASES, lapses_at, REQUEST)
  is_leased = true
end
