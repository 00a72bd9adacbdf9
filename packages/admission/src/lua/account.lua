-- Writes an account's facts, for the scripts of the keys service.

-- include clock
-- include epoch
-- include keys
-- include limits
-- include meter
-- include unpack-meter
-- include pack-meter

-- A dead key's mark outlasts any fill that was under way; after that, the fill itself says that the key is dead.
local DEAD_KEY_KEPT_MS = DAY_MS
-- Facts expire after this long. Keys then writes them again, which also repairs any that were wrong.
local ACCOUNT_KEPT_MS = DAY_MS
local PRUNE_ABOVE = 100
-- Beyond so many, the earlier half goes. So a client that rotates in a loop does not fill the store, nor make each change read
-- so many. Keys still reports those as dead.
local DEAD_KEYS_AT_MOST = 500

local function drop_living_keys()
  local fields = redis.call('HGETALL', ACCOUNT)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 4) == 'key:' and parse_key_state(fields[i + 1]).active then
      local key_hash = string.sub(fields[i], 5)
      redis.call('HDEL', ACCOUNT, fields[i], 'limits:' .. key_hash, 'policy:' .. key_hash)
    end
  end
end

local function drop_dead_keys()
  local fields, kept = redis.call('HGETALL', ACCOUNT), {}
  for i = 1, #fields, 2 do
    local state = string.sub(fields[i], 1, 4) == 'key:' and parse_key_state(fields[i + 1])
    if state and not state.active then
      if state.written_at < NOW_MS - DEAD_KEY_KEPT_MS then
        redis.call('HDEL', ACCOUNT, fields[i])
      else
        state.field = fields[i]
        kept[#kept + 1] = state
      end
    end
  end
  if #kept <= DEAD_KEYS_AT_MOST then return end
  table.sort(kept, function(one, other)
    if one.written_at ~= other.written_at then return one.written_at < other.written_at end
    return one.version < other.version
  end)
  for i = 1, #kept - DEAD_KEYS_AT_MOST / 2 do redis.call('HDEL', ACCOUNT, kept[i].field) end
end

-- `limits`: of a project's key, as `fill` has them in ARGV; '' for none.
local function write_key(field, version, active, limits)
  local key_hash = string.sub(field, 5)
  local state = not active and ' dead ' or limits ~= '' and ' limited ' or ' active '
  redis.call('HSET', ACCOUNT, field, int(version) .. state .. int(NOW_MS))
  if state ~= ' limited ' then
    redis.call('HDEL', ACCOUNT, 'limits:' .. key_hash, 'policy:' .. key_hash)
    return
  end
  local id, expires_at, monthly, rpm, tpm, policy = unpack(cjson.decode(limits))
  local packed = struct.pack(LIMITS, expires_at, monthly, rpm, tpm, id, int(version) .. '.' .. id, EPOCH)
  redis.call('HSET', ACCOUNT, 'limits:' .. key_hash, packed, 'policy:' .. key_hash, policy)
  if monthly >= 0 or rpm >= 0 or tpm >= 0 then return end
  -- A key without limits is not counted, so its total is not known from now on.
  local meter = unpack_meter(redis.call('HGET', USE, 'key:' .. id))
  if meter and meter.known == 1 then
    meter.known = 0
    redis.call('HSET', USE, 'key:' .. id, pack_meter(meter))
  end
end

-- Writes the facts of a project, as `fill` has them in ARGV.
local function write_project(facts)
  local hard, policy_version, policy, limits = unpack(cjson.decode(facts))
  local models = {}
  for _, model in ipairs(cjson.decode(redis.call('HGET', ACCOUNT, 'models') or '[]')) do
    redis.call('HDEL', ACCOUNT, 'model:' .. model)
  end
  for i, of_model in ipairs(limits) do
    models[i] = of_model[1]
    redis.call('HSET', ACCOUNT, 'model:' .. of_model[1], struct.pack(MODEL_LIMITS, of_model[2], of_model[3], of_model[4]))
  end
  redis.call('HSET', ACCOUNT, 'project', struct.pack(PROJECT, hard, int(policy_version), EPOCH), 'policy', policy,
    'models', #models == 0 and '[]' or cjson.encode(models))
end

local function keep_account()
  if redis.call('HLEN', ACCOUNT) > PRUNE_ABOVE then drop_dead_keys() end
  redis.call('PEXPIRE', ACCOUNT, ACCOUNT_KEPT_MS)
end
