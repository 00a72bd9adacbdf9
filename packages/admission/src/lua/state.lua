-- The account's use, of which these locals are the figures. Its field 'state' has them packed, in this order:
--   epoch, window       the epoch and the window of the rest
--   known               true where metering has reported the window's total since the epoch began
--   settled, version    that total
--   running, ended      the sums of the window's records
--   level, level_at, tpm  the token bucket, or false: never used
--   day, day_count      requests of that day
--   kept_until          the time at which all this expires
--   log_until           the time at which the log does
--   next_lapse          no lease lapses before
--   latest              the latest window that this epoch has seen
--   metered             of a project: some of its keys have meters
-- `project`: the use has the layout of a project's.
local epoch, window, known, settled, version, running, ended, level, level_at, tpm, day, day_count, kept_until, log_until,
  next_lapse, latest, metered
local project = false
if stored[1] then
  epoch, window, known, settled, version, running, ended, level, level_at, tpm, day, day_count, kept_until, log_until,
    next_lapse, latest, metered = unpack(cmsgpack.unpack(stored[1]), 1, 17)
  log_until, next_lapse, latest = log_until or 0, next_lapse or 0, latest or window or ''
  if epoch and epoch ~= EPOCH then
    local prefix = PROJECT_LAYOUT .. '/'
    project = string.sub(epoch, 1, #prefix) == prefix
    if epoch == prefix .. ARGV[1] then epoch = EPOCH end
  end
else
  epoch, window, known, settled, version, running, ended, level, level_at, tpm, day, day_count, kept_until, log_until,
    next_lapse, latest = false, false, false, 0, -1, 0, 0, false, 0, 0, 0, 0, 0, 0, 0, ''
end
