local function new_meter()
  return { known = 0, settled = 0, version = -1, running = 0, ended = 0, level = false, level_at = 0, tpm = 0, day = 0,
    day_count = 0, logged = 0, log_from = 0, log_until = 0, tail = '' }
end
