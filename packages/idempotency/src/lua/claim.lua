-- Takes the key where nobody has it, or where a lapsed request has it that the caller names. Otherwise returns the record.
--
-- Returns { 'claimed' }, { 'running', fingerprint, request, owner, lapsed (1 or 0) } or
--         { 'kept', fingerprint, request, response, settled (1 or 0) }.

local found = redis.call('HMGET', HASH, 'request', 'fingerprint', 'owner', 'lapses', 'settled')
local request, fingerprint, lapses = found[1], found[2], tonumber(found[4])
local lapsed = lapses and lapses <= NOW_MS

if not request or (lapses and request == REQUEST) or (lapsed and request == AFTER) then
  hold(HASH, REQUEST, OWNER, FINGERPRINT, LEASE_MS)
  return { 'claimed' }
end
if lapses then return { 'running', fingerprint, request, found[3], lapsed and 1 or 0 } end
return { 'kept', fingerprint, request, redis.call('HGET', HASH, 'answer'), found[5] and 1 or 0 }
