-- Writes the use, with the writes that wait for it.

local until_ms = WINDOW_RESETS_MS + DAY_MS
if level then until_ms = max(until_ms, NOW_MS + math.ceil((tpm * BUCKET_SCALE - level) / tpm)) end
if changed_meters then
  -- include pack-meter
  local count = #writes
  for field, meter in pairs(changed_meters) do
    if meter.level then
      until_ms = max(until_ms, NOW_MS + math.ceil((meter.tpm * BUCKET_SCALE - meter.level) / meter.tpm))
    end
    writes[count + 1], writes[count + 2] = field, pack_meter(meter)
    count = count + 2
  end
end
-- The use may go a day after its month, when nothing that is pending matters any more. It does not go before its buckets are
-- full, since a new bucket begins full.
local extend = until_ms > kept_until
if extend then kept_until = until_ms end
local packed = cmsgpack.pack({ project and PROJECT_LAYOUT .. '/' .. ARGV[1] or epoch, window, known, settled, version,
  running, ended, level, level_at, tpm, day, day_count, kept_until, log_until, next_lapse, latest,
  project and metered or nil })
redis.call('HSET', USE, 'state', packed, unpack(writes))
if unleased then redis.call('ZREM', LEASES, unpack(unleased)) end
if extend then
  redis.call('PEXPIRE', USE, until_ms - NOW_MS)
  redis.call('PEXPIRE', LEASES, until_ms - NOW_MS)
end
