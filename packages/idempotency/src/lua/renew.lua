-- Renews claims, also those that the store has forgotten.
--
-- KEYS  3 ... the records
-- Returns the requests whose keys others have by now.

local lost = {}
for i = 3, #KEYS do
  local at = RECORDS + (i - 3) * RECORD
  local request = ARGV[at + OF_REQUEST]
  local found = redis.call('HMGET', KEYS[i], 'request', 'lapses')
  if found[1] and found[1] ~= request then
    lost[#lost + 1] = request
  elseif not found[1] or found[2] then
    hold(KEYS[i], request, ARGV[at + OF_OWNER], ARGV[at + OF_FINGERPRINT], LEASE_MS)
  end
end
return lost
