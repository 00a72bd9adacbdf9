-- Shared by every script: what they are given, the clock, and an account's use (totals, pending, rates).
--
-- A script touches the keys of one account only, all under its hash tag. Numbers are whole and below 2^53. Redis writes
-- Lua numbers handed to redis.call in full (%.17g), but `..` shortens them to 14 digits: join them with int().
--
-- KEYS  1 account   hash    what the keys service owns: plan, top-ups, key states
--       2 use       hash    the window's total and pending sums, the token bucket, the day's count
--       3 requests  hash    request id -> record; running ones, and ended ones that the ledger does not yet include
--       4 leases    zset    running request ids by the time (ms) at which they lapse
--       5 log       zset    a member for each request admitted in the last minute, by time (us)
-- ARGV  1 epoch     the life of this server that the caller is connected to
--       2 now       empty; tests put a time (ms) in place of Redis' own clock

local ACCOUNT, USE, REQUESTS, LEASES, LOG = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local EPOCH = ARGV[1]

local MINUTE_US = 60000000
local DAY_MS = 86400000
-- The bucket counts in tokens x this, so that one millisecond's refill is a whole number: tokens per minute.
local BUCKET_SCALE = 60000
-- State untouched for this long goes; it is asked for again when needed.
local IDLE_MS = DAY_MS
-- Leases released in one call; more wait for the next, counted as pending until then.
local RELEASE_AT_MOST = 500
local READ_AT_ONCE = 500

local function int(number)
  return string.format('%.0f', number)
end

-- The clock ---------------------------------------------------------------------------------------------------------

local function read_clock_us()
  if ARGV[2] ~= '' then return ARGV[2] * 1000 end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local NOW_US = read_clock_us()
local NOW_MS = math.floor(NOW_US / 1000)
local TODAY = math.floor(NOW_MS / DAY_MS)

-- Days since 1970 to a month and back, after Howard Hinnant, "chrono-compatible low-level date algorithms".
local function month_of(day)
  local z = day + 719468
  local era = math.floor(z / 146097)
  local day_of_era = z - era * 146097
  local year_of_era = math.floor(
    (day_of_era - math.floor(day_of_era / 1460) + math.floor(day_of_era / 36524) - math.floor(day_of_era / 146096)) / 365)
  local day_of_year = day_of_era - (365 * year_of_era + math.floor(year_of_era / 4) - math.floor(year_of_era / 100))
  local month_from_march = math.floor((5 * day_of_year + 2) / 153)
  local month = month_from_march < 10 and month_from_march + 3 or month_from_march - 9
  local year = year_of_era + era * 400
  if month <= 2 then year = year + 1 end
  return year, month
end

local function first_day_of(year, month)
  if month <= 2 then year = year - 1 end
  local era = math.floor(year / 400)
  local year_of_era = year - era * 400
  local month_from_march = month > 2 and month - 3 or month + 9
  local day_of_year = math.floor((153 * month_from_march + 2) / 5)
  local day_of_era = year_of_era * 365 + math.floor(year_of_era / 4) - math.floor(year_of_era / 100) + day_of_year
  return era * 146097 + day_of_era - 719468
end

local YEAR, MONTH = month_of(TODAY)
local WINDOW = string.format('%04d-%02d', YEAR, MONTH)
local WINDOW_RESETS_MS = DAY_MS * (MONTH == 12 and first_day_of(YEAR + 1, 1) or first_day_of(YEAR, MONTH + 1))

-- Requests ------------------------------------------------------------------------------------------------------------

-- 'running <window> <worst charge> <reserved tokens>': the last is '-' where the bucket holds no reservation of ours.
-- 'ended <window> <charge>'
local function running_record(window, worst, reserved)
  return 'running ' .. window .. ' ' .. worst .. ' ' .. reserved
end

local function ended_record(window, charge)
  return 'ended ' .. window .. ' ' .. charge
end

local function parse_record(text)
  local state, window, amount, reserved = string.match(text, '^(%a+) (%S+) (%S+) ?(%S*)$')
  return { running = state == 'running', window = window, amount = tonumber(amount), reserved = tonumber(reserved) }
end

-- Use -----------------------------------------------------------------------------------------------------------------

-- `running` and `ended` are the sums of the records of `window`. `known`: metering has told the window's total since
-- this epoch began. Whoever changes a use saves it.
local function read_use()
  local field = redis.call('HMGET', USE, 'epoch', 'window', 'known', 'settled', 'version', 'running', 'ended',
    'level', 'level_at', 'tpm', 'day', 'day_count')
  return {
    exists = field[1] ~= false,
    epoch = field[1],
    window = field[2],
    known = field[3] == '1',
    settled = tonumber(field[4]) or 0,
    version = tonumber(field[5]) or -1,
    running = tonumber(field[6]) or 0,
    ended = tonumber(field[7]) or 0,
    level = tonumber(field[8]),
    level_at = tonumber(field[9]) or 0,
    tpm = tonumber(field[10]) or 0,
    day = tonumber(field[11]) or 0,
    day_count = tonumber(field[12]) or 0,
    changed = false,
  }
end

-- A new month, or a server that may have forgotten something: the total is unknown. Running requests stay, each
-- belonging to its own month. Ended ones go: those of a former month stand in nobody's way, and of those in an old
-- snapshot the ledger may already have told, so that nothing would ever remove them.
local function begin_window(use)
  local forgetful = use.epoch ~= EPOCH
  use.running, use.ended = 0, 0
  local records = redis.call('HGETALL', REQUESTS)
  for i = 1, #records, 2 do
    local record = parse_record(records[i + 1])
    local of_this_window = record.window == WINDOW
    if record.running then
      if of_this_window then use.running = use.running + record.amount end
    elseif forgetful or not of_this_window then
      redis.call('HDEL', REQUESTS, records[i])
    else
      use.ended = use.ended + record.amount
    end
  end
  use.epoch, use.window, use.known, use.settled, use.version = EPOCH, WINDOW, false, 0, -1
  use.changed = use.exists
end

-- Gives up running requests that nobody renewed. Returns how many.
local function release_lapsed(use)
  local ids = redis.call('ZRANGEBYSCORE', LEASES, '-inf', NOW_MS, 'LIMIT', 0, RELEASE_AT_MOST)
  if #ids == 0 then return 0 end
  for _, text in ipairs(redis.call('HMGET', REQUESTS, unpack(ids))) do
    local record = text and parse_record(text)
    if record and record.window == use.window then use.running = use.running - record.amount end
  end
  redis.call('HDEL', REQUESTS, unpack(ids))
  redis.call('ZREM', LEASES, unpack(ids))
  use.changed = true
  return #ids
end

-- The account's use as of now, and how many leases have lapsed.
local function open_use()
  local use = read_use()
  if use.epoch ~= EPOCH or use.window ~= WINDOW then begin_window(use) end
  return use, release_lapsed(use)
end

local function save_use(use)
  redis.call('HSET', USE, 'epoch', use.epoch, 'window', use.window, 'known', use.known and '1' or '0',
    'settled', use.settled, 'version', use.version, 'running', use.running, 'ended', use.ended,
    'level', use.level or '', 'level_at', use.level_at, 'tpm', use.tpm, 'day', use.day, 'day_count', use.day_count)
  local keep_ms = IDLE_MS
  -- What is pending stands until the ledger includes it or its month is over.
  if use.running + use.ended > 0 then keep_ms = WINDOW_RESETS_MS - NOW_MS + DAY_MS end
  -- A debt stands until it is paid.
  if use.level and use.level < 0 then keep_ms = math.max(keep_ms, math.ceil(-use.level / use.tpm) + DAY_MS) end
  redis.call('PEXPIRE', USE, keep_ms)
  redis.call('PEXPIRE', REQUESTS, keep_ms)
  redis.call('PEXPIRE', LEASES, keep_ms)
end

-- The token bucket's level as of now. It begins full.
local function bucket_level(use, tpm)
  local full = tpm * BUCKET_SCALE
  if not use.level then return full end
  return math.min(full, use.level + math.max(0, NOW_MS - use.level_at) * tpm)
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
