-- May this request run now? Ends those that have ended, checks everything, then writes everything.
--
-- Returns { released leases, kind, ... }: 'deny' (the key), 'miss', 'cold', 'plan' <plan>, or
--       'allow' '' <tight (1 or 0)> | 'deny' <reason> <retry after ms>, each with the quota status.

local RPM, TPM, PER_DAY = tonumber(REQUESTS_PER_MINUTE), tonumber(TOKENS_PER_MINUTE), tonumber(REQUESTS_PER_DAY)
local USUAL, WORST = tonumber(USUAL_TOKENS), tonumber(WORST_CHARGE)
-- Nobody knows when a running request ends. They usually take seconds.
local PENDING_RETRY_MS = 1000

local facts = redis.call('HMGET', ACCOUNT, 'epoch', 'plan', 'overage', 'extra', 'window', key_field(KEY_HASH), 'more_later', 'version')
local of_this_epoch = is_of_this_epoch(facts[1])
local key, extra = parse_key_state(facts[6]), present_extra(facts[4], facts[5], facts[7])
local refusal = nil
if key and not key.active then
  refusal = 'deny'
elseif not key or not of_this_epoch or not extra then
  refusal = 'miss'
end
-- A caller without a proven key changes nothing of the account, not even its upkeep. Ends that an edge reports still count.
if refusal and #ARGV < RECORDS then return { 0, refusal } end

local REQUESTS = { REQUEST }
for at = RECORDS, #ARGV, RECORD do REQUESTS[#REQUESTS + 1] = ARGV[at + OF_REQUEST] end
local use, released, records = open_use(REQUESTS)
for at = RECORDS, #ARGV, RECORD do
  local ended = ARGV[at + OF_REQUEST]
  end_request(use, ended, records[ended], tonumber(ARGV[at + OF_CHARGE]), tonumber(ARGV[at + OF_TOKENS]))
end
local held = records[REQUEST]

local function reply(...)
  save_upkeep(use)
  return { released, ... }
end

if refusal then return reply(refusal) end
local plan = facts[2]
if plan ~= PLAN_HINT then return reply('plan', plan) end
if not use.known and TAKES ~= 'request' then return reply('cold') end

local overage = facts[3] == '1'
local limit = tonumber(ALLOWANCE) + extra
local used = use.settled + use.ended

redis.call('ZREMRANGEBYSCORE', LOG, '-inf', NOW_US - MINUTE_US)
local logged = redis.call('ZCARD', LOG)
local level = bucket_level(use, TPM)
local day_count = use.day == TODAY and use.day_count or 0

-- Milliseconds until the entry of the log with this rank, counted from the oldest, is a minute old.
local function leaves_in_ms(rank)
  local entry = redis.call('ZRANGE', LOG, rank, rank, 'WITHSCORES')
  if not entry[2] then return 0 end
  return math.ceil((entry[2] + MINUTE_US - NOW_US) / 1000)
end

local function quota_status(window, window_resets_ms, requests_reset_ms)
  return plan, window, window_resets_ms, used, limit, overage and 1 or 0,
    max(0, RPM - logged), requests_reset_ms,
    max(0, floor(level / BUCKET_SCALE)), math.ceil((TPM * BUCKET_SCALE - level) / TPM),
    PER_DAY < 0 and -1 or max(0, PER_DAY - day_count), NOW_MS, facts[8]
end

-- 1 where a reservation that stays a moment too long may refuse the next request.
local function tight()
  local near_limit = not overage and used + 2 * use.running >= limit
  return (near_limit or 2 * level < TPM * BUCKET_SCALE) and 1 or 0
end

-- Two in the same microsecond differ in the number of members before them.
local function take_place()
  redis.call('ZADD', LOG, NOW_US, int(NOW_US) .. ':' .. logged)
  if logged == 0 or use.log_until < NOW_MS + MINUTE_MS then
    use.log_until = NOW_MS + 2 * MINUTE_MS
    redis.call('PEXPIRE', LOG, 2 * MINUTE_MS)
    use.changed = true
  end
  logged = logged + 1
end

local function deny(reason, retry_after_ms)
  return reply('deny', reason, retry_after_ms, quota_status(WINDOW, WINDOW_RESETS_MS, leaves_in_ms(-1)))
end

-- A request that no backend runs.
if TAKES == 'request' then
  if logged >= RPM then return deny('requests', leaves_in_ms(logged - RPM)) end
  take_place()
  return reply('allow', '', tight(), quota_status(WINDOW, WINDOW_RESETS_MS, MINUTE_MS))
end

-- The same call again: the reply is the same, and nothing more is taken.
if held and not held.over then
  local window, resets_ms = held.window, WINDOW_RESETS_MS
  if window ~= WINDOW then
    resets_ms = DAY_MS * first_day_of(tonumber(string.sub(window, 1, 4)), tonumber(string.sub(window, 6, 7)) + 1)
  end
  return reply('allow', '', tight(), quota_status(window, resets_ms, leaves_in_ms(-1)))
end

if PLAN_INCLUDES_MODEL ~= '1' then return deny('plan', 0) end
-- The reply names the limit that stands in the way longest: waiting less than that would not admit.
local longest, wait_ms = nil, 0
local function in_the_way(reason, for_ms)
  if for_ms > wait_ms then longest, wait_ms = reason, for_ms end
end
if logged >= RPM then in_the_way('requests', leaves_in_ms(logged - RPM)) end
-- More than the bucket holds passes when it is full.
local needed = min(USUAL, TPM) * BUCKET_SCALE
if level < needed then in_the_way('tokens', math.ceil((needed - level) / TPM)) end
if PER_DAY >= 0 and day_count >= PER_DAY then in_the_way('day', (TODAY + 1) * DAY_MS - NOW_MS) end
if not overage then
  if used >= limit then
    in_the_way('allowance', WINDOW_RESETS_MS - NOW_MS)
  elseif used + use.running >= limit then
    in_the_way('pending', PENDING_RETRY_MS)
  end
end
if longest then return deny(longest, wait_ms) end
if TAKES == 'nothing' then return reply('allow', '', tight(), quota_status(WINDOW, WINDOW_RESETS_MS, leaves_in_ms(-1))) end

take_place()
level = level - USUAL * BUCKET_SCALE
use.level, use.level_at, use.tpm = level, NOW_MS, TPM
if PER_DAY >= 0 then
  day_count = day_count + 1
  use.day, use.day_count = TODAY, day_count
end
use.running = use.running + WORST
-- Admitted, over and admitted again: the bucket holds both.
local in_bucket = held and held.tokens and int(USUAL + held.tokens) or USUAL_TOKENS
write_record(use, REQUEST, running_record(WINDOW, WORST_CHARGE, in_bucket))
save_leases(use, { REQUEST }, NOW_MS + LEASE_MS)
return { released, 'allow', '', tight(), quota_status(WINDOW, WINDOW_RESETS_MS, MINUTE_MS) }
