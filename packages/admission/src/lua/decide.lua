-- Decides on a request whose key, plan and totals are known, and takes what it needs. Sets `reply`.

local overage = facts[3] == '1'
local limit, bounded = ALLOWANCE + extra, not overage
if hard_limit and hard_limit >= 0 then
  limit, bounded = overage and hard_limit or min(limit, hard_limit), true
end
local used, usual = settled + ended, USUAL_TOKENS + 0

redis.call('ZREMRANGEBYSCORE', LOG, '-inf', NOW_US - MINUTE_US)
local logged = redis.call('ZCARD', LOG)
local full = TPM * BUCKET_SCALE
local level_now, count_today = full, day == TODAY and day_count or 0
if level then level_now = min(full, level + (NOW_MS > level_at and (NOW_MS - level_at) * TPM or 0)) end
if others then
  for i = 1, #others do
    local other = others[i]
    local meter, tpm = other.meter, other.tpm
    if tpm >= 0 then
      other.level = tpm * BUCKET_SCALE
      if meter.level then
        other.level = min(other.level, meter.level + (NOW_MS > meter.level_at and (NOW_MS - meter.level_at) * tpm or 0))
      end
    end
  end
end

local of_request = TAKES == 'request'
local reply_window, requests_reset_ms = WINDOW, nil
-- The refusal names the limit that stands in the way longest: waiting less than that would not admit.
local longest, wait_ms, takes = nil, 0, nil

if held and not held.over and not of_request then
  -- The same call again: the reply is the same, and nothing more is taken.
  reply_window, takes = held.window, 'nothing'
elseif PLAN_INCLUDES_MODEL ~= '1' and not of_request then
  longest = 'plan'
else
  takes = TAKES
  if logged >= RPM then
    local entry = redis.call('ZRANGE', LOG, logged - RPM, logged - RPM, 'WITHSCORES')
    longest, wait_ms = 'requests', math.ceil((entry[2] + MINUTE_US - NOW_US) / 1000)
  end
  -- No backend runs a request that is wrong. Only its place among the minute's requests is taken.
  if not of_request then
    -- More than the bucket holds passes when it is full.
    local needed = (usual < TPM and usual or TPM) * BUCKET_SCALE
    if level_now < needed then
      local for_ms = math.ceil((needed - level_now) / TPM)
      if for_ms > wait_ms then longest, wait_ms = 'tokens', for_ms end
    end
    if PER_DAY >= 0 and count_today >= PER_DAY then
      local for_ms = (TODAY + 1) * DAY_MS - NOW_MS
      if for_ms > wait_ms then longest, wait_ms = 'day', for_ms end
    end
    if bounded and used + running >= limit then
      local reason, for_ms = 'pending', PENDING_RETRY_MS
      if used >= limit then reason, for_ms = 'allowance', WINDOW_RESETS_MS - NOW_MS end
      if for_ms > wait_ms then longest, wait_ms = reason, for_ms end
    end
  end
  if others then
    for i = 1, #others do
      local other = others[i]
      local meter, rpm, tpm = other.meter, other.rpm, other.tpm
      if rpm >= 0 then
        if NOW_MS >= meter.log_until then meter.logged, meter.log_from, meter.tail = 0, 0, '' end
        if meter.logged - meter.log_from >= rpm then
          -- include logs
          local for_ms = log_wait_ms(meter, other.log, rpm)
          if for_ms > wait_ms then longest, wait_ms = other.scope .. 'requests', for_ms end
        end
      end
      if not of_request then
        if tpm >= 0 then
          local needed = (usual < tpm and usual or tpm) * BUCKET_SCALE
          if other.level < needed then
            local for_ms = math.ceil((needed - other.level) / tpm)
            if for_ms > wait_ms then longest, wait_ms = other.scope .. 'tokens', for_ms end
          end
        end
        if other.per_day >= 0 and (meter.day == TODAY and meter.day_count or 0) >= other.per_day then
          local for_ms = (TODAY + 1) * DAY_MS - NOW_MS
          if for_ms > wait_ms then longest, wait_ms = other.scope .. 'day', for_ms end
        end
        local spent = meter.settled + meter.ended
        if other.monthly >= 0 and spent + meter.running >= other.monthly then
          local reason, for_ms = 'pending', PENDING_RETRY_MS
          if spent >= other.monthly then reason, for_ms = 'allowance', WINDOW_RESETS_MS - NOW_MS end
          if for_ms > wait_ms then longest, wait_ms = other.scope .. reason, for_ms end
        end
      end
    end
  end
end

if not longest and takes ~= 'nothing' then
  -- include take
end
if not requests_reset_ms then
  local newest = redis.call('ZRANGE', LOG, -1, -1, 'WITHSCORES')[2]
  requests_reset_ms = newest and math.ceil((newest + MINUTE_US - NOW_US) / 1000) or 0
end

-- An allowed request has 1 where a reservation that stays a moment too long may refuse the next one.
local kind, figure = 'deny', wait_ms
if not longest then
  kind = 'allow'
  local tight = bounded and used + 2 * running >= limit or 2 * level_now < full
  if others and not tight then
    for i = 1, #others do
      local other = others[i]
      local meter, monthly = other.meter, other.monthly
      tight = tight or other.tpm >= 0 and 2 * other.level < other.tpm * BUCKET_SCALE
        or monthly >= 0 and meter.settled + meter.ended + 2 * meter.running >= monthly
    end
  end
  figure = tight and 1 or 0
end
reply = { released, kind, longest or '', figure, plan, reply_window, used, limit, overage and 1 or 0, logged,
  requests_reset_ms, level_now, count_today, NOW_MS, facts[8] }
