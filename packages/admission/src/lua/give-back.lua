-- The meter's bucket gets tokens back, or fewer than none.
local function give_back(m, tokens)
  if not m.level then return end
  local full = m.tpm * BUCKET_SCALE
  local now = NOW_MS > m.level_at and min(full, m.level + (NOW_MS - m.level_at) * m.tpm) or min(full, m.level)
  m.level, m.level_at = min(full, now + tokens * BUCKET_SCALE), NOW_MS
end
