-- Writes an account's facts, for the scripts of the keys service.

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
      redis.call('HDEL', ACCOUNT, fields[i])
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

local function write_key(field, version, active)
  redis.call('HSET', ACCOUNT, field, int(version) .. (active and ' active ' or ' dead ') .. int(NOW_MS))
end

local function keep_account()
  if redis.call('HLEN', ACCOUNT) > PRUNE_ABOVE then drop_dead_keys() end
  redis.call('PEXPIRE', ACCOUNT, ACCOUNT_KEPT_MS)
end
