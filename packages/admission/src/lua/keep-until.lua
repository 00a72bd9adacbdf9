-- The use may go a day after its month, when nothing that is pending matters any more. It does not go before its buckets are
-- full, since a new bucket begins full.
local until_ms = WINDOW_RESETS_MS + DAY_MS
if level then until_ms = max(until_ms, NOW_MS + math.ceil((tpm * BUCKET_SCALE - level) / tpm)) end
if changed_meters then
  for _, meter in pairs(changed_meters) do
    if meter.level then
      until_ms = max(until_ms, NOW_MS + math.ceil((meter.tpm * BUCKET_SCALE - meter.level) / meter.tpm))
    end
  end
end
