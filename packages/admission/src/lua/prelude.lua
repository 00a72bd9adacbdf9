-- Shared by every script: its arguments, the clock, and an account's use (totals, pending, rates).
--
-- A script touches the keys of one account only, all under its hash tag. Numbers are whole and below 2^53. Redis writes
-- Lua numbers handed to redis.call in full (%.17g), but `..` shortens them to 14 digits: join them with int().
--
-- KEYS  1 account  hash  the facts that the keys service owns: plan, top-ups, key states
--       2 use      hash  the window's total and pending sums, the token bucket, the day's count, and a record of each
--                        request that runs, or has ended and is not yet included by the ledger
--       3 leases   zset  request ids by the time (ms) at which they lapse (running) or are forgotten (over)
--       4 log      zset  a member for each request admitted in the last minute, by time (us)
-- ARGV  1 epoch    the incarnation of this server that the caller is connected to
--       2 now      empty; tests put a time (ms) in place of Redis' own clock
--       The others have the names of the script's table (`redis/scripts.ts`).

local ACCOUNT, USE, LEASES, LOG = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- The layout of the state. A change that former processes would misread raises it. Their state is then of another epoch, and
-- they refuse the state of a newer process. In layout 1 the stored epoch is bare, later '<layout>/<epoch>'.
local LAYOUT = 1
local EPOCH = LAYOUT == 1 and ARGV[1] or LAYOUT .. '/' .. ARGV[1]

local floor, max, min = math.floor, math.max, math.min

local MINUTE_MS = 60000
local MINUTE_US = 60000000
local DAY_MS = 86400000
-- The bucket counts in tokens x this, so that one millisecond's refill is a whole number: tokens per minute.
local BUCKET_SCALE = 60000
-- Leases released in one call; more wait for the next, counted as pending until then.
local RELEASE_AT_MOST = '500'
local READ_AT_ONCE = 500
local NEVER_MS = 9e15
-- The record of a request whose lease has lapsed, with its tokens in the bucket, stays for so long. Its report may wait for a
-- metering service that is away.
local LAPSED_KEPT_MS = 60 * MINUTE_MS

local function int(number)
  return string.format('%.0f', number)
end

-- True where a state belongs to this epoch. Looks for the layout of another epoch only.
local function is_of_this_epoch(epoch)
  if epoch == EPOCH then return true end
  local layout = tonumber(epoch and string.match(epoch, '^(%d+)/') or 1)
  if layout > LAYOUT then
    error('NEWERLAYOUT state of layout ' .. layout .. ', and this process knows ' .. LAYOUT .. ' at most')
  end
  return false
end

-- The clock ---------------------------------------------------------------------------------------------------------

local function read_clock_us()
  if ARGV[2] ~= '' then return ARGV[2] * 1000 end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local NOW_US = read_clock_us()
local NOW_MS = floor(NOW_US / 1000)
local TODAY = floor(NOW_MS / DAY_MS)

-- Days since 1970 to a month and back, after Howard Hinnant, "chrono-compatible low-level date algorithms".
local YEAR, MONTH
do
  local z = TODAY + 719468
  local era = floor(z / 146097)
  local day_of_era = z - era * 146097
  local year_of_era = floor(
    (day_of_era - floor(day_of_era / 1460) + floor(day_of_era / 36524) - floor(day_of_era / 146096)) / 365)
  local day_of_year = day_of_era - (365 * year_of_era + floor(year_of_era / 4) - floor(year_of_era / 100))
  local month_from_march = floor((5 * day_of_year + 2) / 153)
  MONTH = month_from_march < 10 and month_from_march + 3 or month_from_march - 9
  YEAR = year_of_era + era * 400
  if MONTH <= 2 then YEAR = YEAR + 1 end
end

-- Month 13 is January of the next year.
local function first_day_of(year, month)
  if month <= 2 then year = year - 1 end
  local era = floor(year / 400)
  local year_of_era = year - era * 400
  local month_from_march = month > 2 and month - 3 or month + 9
  local day_of_year = floor((153 * month_from_march + 2) / 5)
  local day_of_era = year_of_era * 365 + floor(year_of_era / 4) - floor(year_of_era / 100) + day_of_year
  return era * 146097 + day_of_era - 719468
end

local WINDOW = string.format('%04d-%02d', YEAR, MONTH)
local WINDOW_RESETS_MS = DAY_MS * first_day_of(YEAR, MONTH + 1)

local function max_window(one, other)
  return one > other and one or other
end

-- Requests ------------------------------------------------------------------------------------------------------------

-- 'request:<id>' -> '<state> <window> <amount> <tokens>'. The bucket holds so many tokens of the request; '-' where the
-- store has lost that number, and then nothing corrects it.
--   running  may cost the amount at most; the tokens are reserved
--   ended    has cost the amount, which the ledger does not yet include
--   over     holds nothing of the allowance: its lease has lapsed, it has cost nothing, or the ledger includes it by a
--            report that another may replace. Its tokens may still turn out to be others. A last figure is the version
--            of the total that brought them, or -1 where the ledger has not reported it.
local function request_field(request)
  return 'request:' .. request
end

local function running_record(window, worst, tokens)
  return 'running ' .. window .. ' ' .. worst .. ' ' .. tokens
end

local function over_record(window, tokens, version)
  return 'over ' .. window .. ' 0 ' .. (tokens and int(tokens) or '-') .. ' ' .. int(version)
end

local function parse_record(text)
  local state, window, amount, tokens = string.match(text, '^(%a+) (%S+) (%S+) ?(%S*)')
  local record = { running = state == 'running', window = window, amount = tonumber(amount), tokens = tonumber(tokens) }
  if state == 'over' then record.over, record.version = true, tonumber(string.match(text, '%S+$')) end
  return record
end

-- Use -----------------------------------------------------------------------------------------------------------------

-- Packed into the field 'state', in this order:
--   epoch, window       the epoch and the window of the rest
--   known               true where metering has reported the window's total since the epoch began
--   settled, version    that total
--   running, ended      the sums of the window's records
--   level, level_at, tpm  the token bucket, or false: never used
--   day, day_count      requests of that day
--   kept_until          the time at which all this expires
--   log_until           the time at which the log does
--   next_lapse          no lease lapses before
--   latest              the latest window that this epoch has seen
local function unpack_use(text)
  local s = text and cmsgpack.unpack(text) or { false, false, false, 0, -1, 0, 0, false, 0, 0, 0, 0, 0 }
  return { exists = text and true, changed = false, epoch = s[1], window = s[2], known = s[3], settled = s[4],
    version = s[5], running = s[6], ended = s[7], level = s[8], level_at = s[9], tpm = s[10], day = s[11],
    day_count = s[12], kept_until = s[13], log_until = s[14] or 0, next_lapse = s[15] or 0,
    latest = s[16] or s[2] or '',
    -- Not yet written: fields of records with their texts, and ids that leave the leases.
    writes = {}, unleased = {} }
end

local function pack_use(use)
  return cmsgpack.pack({ use.epoch, use.window, use.known, use.settled, use.version, use.running, use.ended, use.level,
    use.level_at, use.tpm, use.day, use.day_count, use.kept_until, use.log_until, use.next_lapse, use.latest })
end

-- The use as stored. A script that changes a use saves it.
local function read_use()
  return unpack_use(redis.call('HGET', USE, 'state'))
end

local function write_record(use, request, text)
  local count = #use.writes
  use.writes[count + 1], use.writes[count + 2] = request_field(request), text
end

-- True where the present window begins with nothing used. This epoch knew the account's total, and has seen no window as late
-- as this one. So nobody was admitted to it, and metering has reported no total of it.
local function begins_empty(use)
  return use.epoch == EPOCH and use.known and WINDOW > use.latest
end

-- In a new month, or on a server that may have forgotten something, the total is unknown. Running requests stay, each in its own
-- month. Ended ones go. Those of a former month stand in nobody's way. The ledger may already have reported those of an old
-- snapshot, so that nothing would ever remove them.
local function begin_window(use)
  local forgetful, empty = not is_of_this_epoch(use.epoch), begins_empty(use)
  local running, ended = 0, 0
  local fields = redis.call('HGETALL', USE)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 8) == 'request:' then
      local record = parse_record(fields[i + 1])
      local of_this_window = record.window == WINDOW
      if record.running then
        if of_this_window then running = running + record.amount end
      elseif record.over then
        -- Goes by its own time.
      elseif forgetful or not of_this_window then
        redis.call('HDEL', USE, fields[i])
      else
        ended = ended + record.amount
      end
    end
  end
  use.latest = forgetful and WINDOW or max_window(use.latest, WINDOW)
  use.epoch, use.window, use.known, use.settled, use.version = EPOCH, WINDOW, empty, 0, empty and 0 or -1
  use.running, use.ended, use.changed = running, ended, true
end

-- Gives up running requests that nobody renewed, and forgets those that were over long enough. Returns the number of those given
-- up. Looks for them only when there may be some. Nobody knows a backend's work for a request that is given up. So the bucket
-- holds its reserved tokens until the ledger reports them.
local function release_lapsed(use)
  if NOW_MS < use.next_lapse then return 0 end
  local due = redis.call('ZRANGEBYSCORE', LEASES, '-inf', NOW_MS, 'WITHSCORES', 'LIMIT', '0', RELEASE_AT_MOST)
  local count = #due / 2
  local later = redis.call('ZRANGE', LEASES, count, count, 'WITHSCORES')
  use.next_lapse = later[2] and tonumber(later[2]) or NEVER_MS
  use.changed = true
  if count == 0 then return 0 end
  local ids, fields = {}, {}
  for i = 1, count do ids[i], fields[i] = due[2 * i - 1], request_field(due[2 * i - 1]) end
  local released, gone, gone_fields = 0, {}, {}
  for i, text in ipairs(redis.call('HMGET', USE, unpack(fields))) do
    local record, forget_at = text and parse_record(text), due[2 * i] + LAPSED_KEPT_MS
    if record and record.running then
      released = released + 1
      if record.window == use.window then use.running = use.running - record.amount end
    end
    if record and record.running and record.tokens and forget_at > NOW_MS then
      redis.call('HSET', USE, fields[i], over_record(record.window, record.tokens, -1))
      redis.call('ZADD', LEASES, forget_at, ids[i])
      use.next_lapse = min(use.next_lapse, forget_at)
    else
      gone[#gone + 1], gone_fields[#gone_fields + 1] = ids[i], fields[i]
    end
  end
  if #gone > 0 then
    redis.call('HDEL', USE, unpack(gone_fields))
    redis.call('ZREM', LEASES, unpack(gone))
  end
  return released
end

-- The account's use as of now, the number of leases that have lapsed, and the records of these requests by id (false: none).
local function open_use(requests)
  local fields, records = {}, {}
  for i, request in ipairs(requests) do fields[i] = request_field(request) end
  local stored = redis.call('HMGET', USE, 'state', unpack(fields))
  local use = unpack_use(stored[1])
  if use.epoch ~= EPOCH or use.window ~= WINDOW then begin_window(use) end
  local released = release_lapsed(use)
  use.ran_before = use.running
  -- They may be among those that went.
  if use.changed then stored = redis.call('HMGET', USE, 'state', unpack(fields)) end
  for i, request in ipairs(requests) do
    local text = stored[i + 1]
    records[request] = text and parse_record(text)
  end
  return use, released, records
end

-- The use may go a day after its month, when nothing that is pending matters any more. It does not go before the bucket is full,
-- since a new bucket begins full.
local function keep_until(use)
  local full_at = use.level and NOW_MS + math.ceil((use.tpm * BUCKET_SCALE - use.level) / use.tpm) or 0
  return max(WINDOW_RESETS_MS + DAY_MS, full_at)
end

-- Writes the use, with the writes that wait for it.
local function save_use(use)
  local until_ms = keep_until(use)
  local extend = until_ms > use.kept_until
  if extend then use.kept_until = until_ms end
  redis.call('HSET', USE, 'state', pack_use(use), unpack(use.writes))
  if #use.unleased > 0 then redis.call('ZREM', LEASES, unpack(use.unleased)) end
  if extend then
    redis.call('PEXPIRE', USE, until_ms - NOW_MS)
    redis.call('PEXPIRE', LEASES, until_ms - NOW_MS)
  end
end

-- After a call that decided nothing: an account without use gets none.
local function save_upkeep(use)
  if use.exists and use.changed then save_use(use) end
end

-- Saves the use, and keeps running requests until then.
local function save_leases(use, requests, lapses_at_ms)
  use.next_lapse = min(use.next_lapse, lapses_at_ms)
  -- Adds come before removals: Redis drops an empty set, and creates the next one without its expiry.
  for _, request in ipairs(requests) do redis.call('ZADD', LEASES, lapses_at_ms, request) end
  save_use(use)
  -- Where nothing else runs, they may be the first.
  if use.ran_before == 0 then redis.call('PEXPIRE', LEASES, use.kept_until - NOW_MS) end
end

-- The token bucket's level as of now. It begins full.
local function bucket_level(use, tpm)
  local full = tpm * BUCKET_SCALE
  if not use.level then return full end
  return min(full, use.level + max(0, NOW_MS - use.level_at) * tpm)
end

-- Key states ----------------------------------------------------------------------------------------------------------

-- 'key:<hash>' -> '<version> active|dead <written at, ms>'. A dead key stays dead in every epoch: keys never come back.
local function key_field(key_hash)
  return 'key:' .. key_hash
end

local function parse_key_state(text)
  if not text then return nil end
  local version, state, written_at = string.match(text, '^(%S+) (%a+) (%S+)$')
  return { version = tonumber(version), active = state == 'active', written_at = tonumber(written_at) }
end

-- Facts ---------------------------------------------------------------------------------------------------------------

-- The top-ups of the present window, from facts that were read in `window`. A later window begins without any, unless keys knows
-- of some that wait there (`more_later`). Nil: only keys knows.
local function present_extra(extra, window, more_later)
  if window == WINDOW then return tonumber(extra) end
  if window and window ~= '' and window < WINDOW and more_later ~= '1' then return 0 end
  return nil
end
