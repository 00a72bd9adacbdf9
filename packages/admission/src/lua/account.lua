-- Writing an account's facts: for the scripts of the keys service.

-- A dead key's mark outlasts any fill that was under way; after that, the fill itself says that the key is dead.
local DEAD_KEY_KEPT_MS = DAY_MS
-- Facts are asked for again after this long, which also heals whatever was wrong with them.
local ACCOUNT_KEPT_MS = DAY_MS
local PRUNE_ABOVE = 100

local function drop_keys(matches)
  local fields = redis.call('HGETALL', ACCOUNT)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 4) == 'key:' and matches(parse_key_state(fields[i + 1])) then
      redis.call('HDEL', ACCOUNT, fields[i])
    end
  end
end

local function write_key(field, version, active)
  redis.call('HSET', ACCOUNT, field, int(version) .. (active and ' active ' or ' dead ') .. int(NOW_MS))
end

local function keep_account()
  if redis.call('HLEN', ACCOUNT) > PRUNE_ABOVE then
    drop_keys(function(state) return not state.active and state.written_at < NOW_MS - DEAD_KEY_KEPT_MS end)
  end
  redis.call('PEXPIRE', ACCOUNT, ACCOUNT_KEPT_MS)
end
