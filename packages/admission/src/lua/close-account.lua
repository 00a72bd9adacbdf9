-- Every key of the account is dead from now on. Facts of this version and older ones bring none to life.

-- include account

local held = redis.call('HGETALL', ACCOUNT)
local version = tonumber(VERSION)
for i = 1, #held, 2 do
  if held[i] == 'epoch' then is_of_this_epoch(held[i + 1]) end
  if held[i] == 'closed' then version = max(version, tonumber(held[i + 1])) end
end
for i = 1, #held, 2 do
  if string.sub(held[i], 1, 4) == 'key:' then
    write_key(held[i], max(tonumber(VERSION), parse_key_state(held[i + 1]).version), false, '')
  end
end
redis.call('HSET', ACCOUNT, 'closed', int(version))
keep_account()
return {}
