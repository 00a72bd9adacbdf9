-- The keys, the epoch and the clock: all that every script has. Every call runs the text of its whole script, and a function
-- costs its creation in each. So this has none, and `-- include <file>` stands where a script needs one.
--
-- A script touches the keys of one account only, all under its hash tag. Numbers are whole and below 2^53. Redis writes
-- Lua numbers handed to redis.call in full (%.17g), but `..` shortens them to 14 digits: join them with int().
--
-- KEYS  1 account  hash  the facts that the keys service owns: plan, top-ups, key states
--       2 use      hash  the window's total and pending sums, the token bucket, the day's count, and a record of each
--                        request that runs, or has ended and is not yet included by the ledger
--       3 leases   zset  request ids by the time (ms) at which they lapse (running) or are forgotten (over)
--       4 log      zset  a member for each request admitted in the last minute, by time (us)
--       5, 6       strings  the same for a project's key and for a model, with limits of their own: times (us), 8 bytes each.
--                        Only `admit` has them.
-- ARGV  1 epoch    the incarnation of this server that the caller is connected to
--       2 now      empty; tests put a time (ms) in place of Redis' own clock
--       The others have the names of the script's table (`redis/scripts.ts`).

local redis, string, floor, max, min = redis, string, math.floor, math.max, math.min
local ACCOUNT, USE, LEASES, LOG = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
-- The layout of the state. A change that former processes would misread raises it. Their state is then of another epoch, and
-- they refuse the state of a newer process. In layout 1 the stored epoch is bare, later '<layout>/<epoch>'.
local LAYOUT = 1
local EPOCH = LAYOUT == 1 and ARGV[1] or LAYOUT .. '/' .. ARGV[1]
-- The layout of a project's use. Processes that know layout 1 alone would change its sums without those of its keys.
local PROJECT_LAYOUT = LAYOUT > 2 and LAYOUT or 2

local MINUTE_MS = 60000
local MINUTE_US = 60000000
local DAY_MS = 86400000
-- The bucket counts in tokens x this, so that one millisecond's refill is a whole number: tokens per minute.
local BUCKET_SCALE = 60000

-- `x - x % y` is a multiple of y without a call of `floor`.
local NOW_US, NOW_US_TEXT
if ARGV[2] == '' then
  local time = redis.call('TIME')
  local micros = time[2]
  if #micros < 6 then micros = string.sub('00000' .. micros, -6) end
  NOW_US_TEXT = time[1] .. micros
else
  NOW_US_TEXT = ARGV[2] .. '000'
end
NOW_US = NOW_US_TEXT + 0
local NOW_MS = (NOW_US - NOW_US % 1000) / 1000
local TODAY = (NOW_MS - NOW_MS % DAY_MS) / DAY_MS

-- Days since 1970 to a month, after Howard Hinnant, "chrono-compatible low-level date algorithms". A year begins in March, so
-- that a leap day is its last.
local WINDOW, WINDOW_RESETS_MS
do
  local day_of_era = (TODAY + 719468) % 146097
  local days = day_of_era - (day_of_era - day_of_era % 1460) / 1460 + (day_of_era - day_of_era % 36524) / 36524
    - (day_of_era - day_of_era % 146096) / 146096
  local year_of_era = (days - days % 365) / 365
  local day_of_year = day_of_era - 365 * year_of_era - (year_of_era - year_of_era % 4) / 4
    + (year_of_era - year_of_era % 100) / 100
  local month_from_march = 5 * day_of_year + 2
  month_from_march = (month_from_march - month_from_march % 153) / 153
  local month = month_from_march < 10 and month_from_march + 3 or month_from_march - 9
  local year = year_of_era + (TODAY + 719468 - day_of_era) / 146097 * 400
  if month <= 2 then year = year + 1 end
  WINDOW = string.format('%04d-%02d', year, month)
  local days_before = 153 * (month_from_march + 1) + 2
  days_before = (days_before - days_before % 5) / 5
  if month == 2 then days_before = (year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)) and 366 or 365 end
  WINDOW_RESETS_MS = DAY_MS * (TODAY - day_of_year + days_before)
end

local function int(number)
  return string.format('%.0f', number)
end
