-- Holds claims on, again where the store has forgotten them.
--
-- KEYS  3 ... the records
-- ARGV  3 lease (ms); then of each record: request, owner, fingerprint
-- Answers the requests whose keys others have by now.

local LEASE_MS = tonumber(ARGV[3])

local lost = {}
for i = 3, #KEYS do
  local at = 4 + (i - 3) * 3
  local request = ARGV[at]
  local found = redis.call('HMGET', KEYS[i], 'request', 'lapses')
  if found[1] and found[1] ~= request then
    lost[#lost + 1] = request
  elseif not found[1] or found[2] then
    hold(KEYS[i], request, ARGV[at + 1], ARGV[at + 2], LEASE_MS)
  end
end
return lost
