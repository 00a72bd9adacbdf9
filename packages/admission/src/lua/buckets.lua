-- Corrects the token buckets of the account, a key and a model.

-- include give-back
local function correct_meter(field, held, tokens)
  local meter = field and find_meter(field)
  if not meter then return end
  give_back(meter, held - tokens)
  change_meter(field, meter)
end

-- The buckets hold this much of the request from now on.
local function correct_buckets(record, tokens)
  local held = record.tokens
  if not held or held == tokens then return end
  if level then
    local bucket = { level = level, level_at = level_at, tpm = tpm }
    give_back(bucket, held - tokens)
    level, level_at = bucket.level, bucket.level_at
  end
  correct_meter(record.in_key, held, tokens)
  correct_meter(record.in_model, held, tokens)
end
