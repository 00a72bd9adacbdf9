-- Takes the key where nobody has it, or where a lapsed request had it that the asker names; else says what stands there.
--
-- ARGV  3 request, 4 owner, 5 fingerprint, 6 lease (ms), 7 request whose lapsed lease may be taken over, or empty
-- Answers { 'claimed' }, { 'running', fingerprint, request, owner, lapsed (1 or 0) } or
--         { 'kept', fingerprint, request, answer, settled (1 or 0) }.

local REQUEST, AFTER = ARGV[3], ARGV[7]

local found = redis.call('HMGET', RECORD, 'request', 'fingerprint', 'owner', 'lapses', 'settled')
local request, fingerprint, lapses = found[1], found[2], tonumber(found[4])
local lapsed = lapses and lapses <= NOW_MS

if not request or (lapses and request == REQUEST) or (lapsed and request == AFTER) then
  hold(RECORD, REQUEST, ARGV[4], ARGV[5], tonumber(ARGV[6]))
  return { 'claimed' }
end
if lapses then return { 'running', fingerprint, request, found[3], lapsed and 1 or 0 } end
return { 'kept', fingerprint, request, redis.call('HGET', RECORD, 'answer'), found[5] and 1 or 0 }
