-- Shared by every script. The record of a key is one hash. A list beside it names the account's kept responses, so that the
-- scripts can hold them within their bounds. Everything lies under the account's hash tag.
--
-- A record holds 'request', 'owner', 'fingerprint', and either 'lapses' (ms), while the request runs, or 'answer' and,
-- once its usage is stored, 'settled'.
--
-- KEYS  1 kept   zset    kept responses by the time (ms) at which they go; a member is '<bytes> <key of the record>'
--       2 bytes  string  their size together
--       3 ...    hash    a record
-- ARGV  1 epoch  the incarnation of this server that the caller is connected to; nothing depends on it
--       2 now    empty; tests put a time (ms) in place of Redis' own clock
--       The others have the names of the script's table (`redis.ts`).

local KEPT, BYTES, HASH = KEYS[1], KEYS[2], KEYS[3]

-- The record of a dead owner goes this long after its lease.
local ABANDONED_MS = 900000

local function read_clock_ms()
  if ARGV[2] ~= '' then return tonumber(ARGV[2]) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local NOW_MS = read_clock_ms()

-- Keeps a running request's record. Tests move the clock by hand, so the time to live counts from now.
local function hold(record, request, owner, fingerprint, lease_ms)
  redis.call('HSET', record, 'request', request, 'owner', owner, 'fingerprint', fingerprint,
    'lapses', NOW_MS + lease_ms)
  redis.call('PEXPIRE', record, lease_ms + ABANDONED_MS)
end
