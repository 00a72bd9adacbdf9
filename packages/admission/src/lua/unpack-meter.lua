local function unpack_meter(text)
  if not text then return false end
  local known, settled, version, running, ended, level, level_at, tpm, day, day_count, logged, log_from, log_until =
    struct.unpack(METER, text)
  return { known = known, settled = settled, version = version, running = running, ended = ended,
    level = tpm ~= 0 and level, level_at = level_at, tpm = tpm, day = day, day_count = day_count, logged = logged,
    log_from = log_from, log_until = log_until, tail = string.sub(text, METER_BYTES + 1) }
end
