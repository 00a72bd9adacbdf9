-- Writes the facts of an account that the keys service owns. Facts older than those held are ignored, key by key.

-- include account

local VERSION = tonumber(VERSION)
local OF_WINDOW = EXTRA_WINDOW ~= '' and EXTRA_WINDOW or WINDOW
-- These facts come late: keys did not read the top-ups of the present window.
if OF_WINDOW < WINDOW then OF_WINDOW = '' end

local held = redis.call('HMGET', ACCOUNT, 'epoch', 'version', 'closed')
local is_closed = held[3] and VERSION <= tonumber(held[3])
local of_this_epoch = is_of_this_epoch(held[1])
if not of_this_epoch then
  -- An old snapshot may hold keys that died after it was taken. Dead ones are dead for ever.
  drop_living_keys()
end
local is_newer = not of_this_epoch or VERSION >= tonumber(held[2])
if is_newer then
  redis.call('HSET', ACCOUNT, 'epoch', EPOCH, 'version', VERSION, 'plan', PLAN, 'overage', OVERAGE, 'extra', EXTRA,
    'window', OF_WINDOW, 'more_later', MORE_LATER)
  if PROJECT_FACTS ~= '' then write_project(PROJECT_FACTS) end
end
for at = RECORDS, #ARGV, RECORD do
  local field, version = key_field(ARGV[at + OF_KEY_HASH]), tonumber(ARGV[at + OF_VERSION])
  local active = ARGV[at + OF_ACTIVE] == '1' and not is_closed
  local known = parse_key_state(redis.call('HGET', ACCOUNT, field))
  local stands
  -- Two facts may have the same version; then the one that refuses stands.
  if known then
    stands = version < known.version or (version == known.version and active)
  else
    -- It may have died since these facts were read, and its mark may have gone.
    stands = active and not is_newer
  end
  if not stands then write_key(field, version, active, ARGV[at + OF_LIMITS]) end
end
keep_account()
return {}
