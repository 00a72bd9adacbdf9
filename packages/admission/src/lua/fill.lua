-- What the keys service owns of an account. Facts older than those held are ignored, key by key.
--
-- ARGV  3 version, 4 plan, 5 overage (1 or 0), 6 extra, 7 the window that extra belongs to, or '' for the present one,
--       8 whether top-ups of a later window are known (1 or 0), then for each key: hash, version, active (1 or 0)

local VERSION = tonumber(ARGV[3])
local OF_WINDOW = ARGV[7] ~= '' and ARGV[7] or WINDOW
-- They come late: the top-ups of the present window were not read.
if OF_WINDOW < WINDOW then OF_WINDOW = '' end

local held = redis.call('HMGET', ACCOUNT, 'epoch', 'version')
local of_this_epoch = is_of_this_life(held[1])
if not of_this_epoch then
  -- An old snapshot may hold keys that died after it was taken. Dead ones are dead for ever.
  drop_keys(function(state) return state.active end)
end
if not of_this_epoch or VERSION >= tonumber(held[2]) then
  redis.call('HSET', ACCOUNT, 'epoch', EPOCH, 'version', VERSION, 'plan', ARGV[4], 'overage', ARGV[5], 'extra', ARGV[6],
    'window', OF_WINDOW, 'more_later', ARGV[8])
end
for i = 9, #ARGV, 3 do
  local field, version, active = key_field(ARGV[i]), tonumber(ARGV[i + 1]), ARGV[i + 2] == '1'
  local known = parse_key_state(redis.call('HGET', ACCOUNT, field))
  -- Of two facts of the same version, the one that refuses stands.
  if not known or version > known.version or (version == known.version and not active) then
    write_key(field, version, active)
  end
end
keep_account()
return {}
