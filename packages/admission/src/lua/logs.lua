-- The log of a key or a model: times (us) of 8 bytes each, in the order of their writing. Its last entries are in the meter's tail,
-- so that only each eighth request writes the string.

-- Returns the entries from one place to before another. Those that Redis has dropped are old: 0.
local function log_entries(meter, log, from, to)
  local in_log = meter.logged - #meter.tail / 8
  local text = ''
  if from < in_log then
    local last = min(to, in_log)
    text = redis.call('GETRANGE', log, 8 * from, 8 * last - 1)
    text = text .. string.rep('\0', 8 * (last - from) - #text)
  end
  if to <= in_log then return text end
  return text .. string.sub(meter.tail, 8 * max(0, from - in_log) + 1, 8 * (to - in_log))
end

-- Skips entries that are a minute old. Returns true where there may be more.
local function skip_old(meter, log)
  local LOG_READ_AT_ONCE = 64
  local last = min(meter.logged, meter.log_from + LOG_READ_AT_ONCE)
  local text = log_entries(meter, log, meter.log_from, last)
  local at = 1
  while meter.log_from < last do
    if struct.unpack('>d', text, at) > NOW_US - MINUTE_US then return false end
    meter.log_from, at = meter.log_from + 1, at + 8
  end
  return meter.log_from < meter.logged
end

-- Milliseconds until one more request fits; 0 when it does now.
local function log_wait_ms(meter, log, rpm)
  while skip_old(meter, log) do end
  if meter.logged - meter.log_from < rpm then return 0 end
  local index = meter.logged - rpm
  local entry = struct.unpack('>d', log_entries(meter, log, index, index + 1))
  return math.ceil((entry + MINUTE_US - NOW_US) / 1000)
end

-- Writes the tail to the log, cuts the log where its first half is old, and keeps it until nothing in it counts.
local function keep_log(meter, log)
  local LOG_CUT_ABOVE = 512
  redis.call('SETRANGE', log, 8 * meter.logged - #meter.tail, meter.tail)
  meter.tail = ''
  if meter.logged % 32 < 8 then skip_old(meter, log) end
  if meter.log_from >= LOG_CUT_ABOVE and 2 * meter.log_from >= meter.logged then
    redis.call('SET', log, redis.call('GETRANGE', log, 8 * meter.log_from, 8 * meter.logged - 1))
    meter.logged, meter.log_from = meter.logged - meter.log_from, 0
  end
  meter.log_until = NOW_MS + 2 * MINUTE_MS
  redis.call('PEXPIRE', log, 2 * MINUTE_MS)
end
