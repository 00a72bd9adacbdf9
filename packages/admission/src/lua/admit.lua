-- May this request run now? Ends those that have ended, checks everything, then writes everything.
--
-- Returns { released leases, kind, ... }: 'deny' (the key), 'miss', 'cold' [<key id>], 'plan' <plan> [<policies>], or
--       'allow' '' <tight (1 or 0)> | 'deny' <scope and reason> <retry after ms>, each with the figures of the quota status.

-- include clock
local RPM, TPM, PER_DAY = REQUESTS_PER_MINUTE + 0, TOKENS_PER_MINUTE + 0, REQUESTS_PER_DAY + 0
-- Nobody knows when a running request ends. They usually take seconds.
local PENDING_RETRY_MS = 1000

-- Without the hint of a policy, the key is a plain one, or its facts are only read to return them.
local facts
if POLICY_HINT == '' then
  facts = redis.call('HMGET', ACCOUNT, 'epoch', 'plan', 'overage', 'extra', 'window', 'key:' .. KEY_HASH, 'more_later',
    'version')
else
  facts = redis.call('HMGET', ACCOUNT, 'epoch', 'plan', 'overage', 'extra', 'window', 'key:' .. KEY_HASH, 'more_later',
    'version', 'limits:' .. KEY_HASH, 'project', 'model:' .. MODEL)
end
local of_this_epoch, extra = facts[1] == EPOCH, nil
if not of_this_epoch then
  -- include epoch
  is_of_this_epoch(facts[1])
end
if facts[5] == WINDOW then
  extra = facts[4] + 0
else
  -- include facts
  extra = present_extra(facts[4], facts[5], facts[7])
end
local active = facts[6] and string.find(facts[6], ' active ', 1, true)
local limited = facts[6] and not active and string.find(facts[6], ' limited ', 1, true)
local key_id, key_hint, expired, key_monthly, key_rpm, key_tpm, hard_limit, policy_version
if limited then
  if POLICY_HINT == '' then
    local more = redis.call('HMGET', ACCOUNT, 'limits:' .. KEY_HASH, 'project')
    facts[9], facts[10] = more[1], more[2]
  end
  -- include limits
  key_id, key_hint, expired, key_monthly, key_rpm, key_tpm = parse_limits(facts[9])
  hard_limit, policy_version = parse_project(facts[10])
end
local refusal = nil
if facts[6] and not active and not limited or expired then
  refusal = 'deny'
elseif not facts[6] or not of_this_epoch or not extra or limited and not (key_id and hard_limit) then
  refusal = 'miss'
end
-- A caller without a proven key changes nothing of the account, not even its upkeep. Ends that an edge reports still count.
if refusal and #ARGV < RECORDS then return { 0, refusal } end

local fields = { 'state', 'request:' .. REQUEST }
for at = RECORDS, #ARGV, RECORD do fields[#fields + 1] = 'request:' .. ARGV[at + OF_REQUEST] end
-- The meters beside the account's own, each with its field, limits, and log. `at`: their field's place among `fields`.
local others, is_hinted = nil, false
local policy_hint = limited and not refusal and policy_version .. '.' .. key_hint
if policy_hint and policy_hint == POLICY_HINT then
  is_hinted = true
  if key_monthly >= 0 or key_rpm >= 0 or key_tpm >= 0 then
    fields[#fields + 1] = 'key:' .. key_id
    others = { { scope = 'key ', bucket = 'k', field = fields[#fields], at = #fields, log = KEYS[5], rpm = key_rpm,
      tpm = key_tpm, per_day = -1, monthly = key_monthly, meter = false, level = 0 } }
  end
  -- No model serves an invalid request.
  if facts[11] and MODEL ~= '' and TAKES ~= 'request' then
    local rpm, tpm, per_day = struct.unpack('<ddd', facts[11])
    fields[#fields + 1] = 'model:' .. MODEL
    others = others or {}
    others[#others + 1] = { scope = 'model ', bucket = 'm', field = fields[#fields], at = #fields, log = KEYS[6],
      rpm = rpm, tpm = tpm, per_day = per_day, monthly = -1, meter = false, level = 0 }
  end
end

-- include open
if others then
  -- include unpack-meter
  for i = 1, #others do
    local field = others[i].field
    if meters[field] == nil then meters[field] = unpack_meter(stored[others[i].at]) end
  end
end
local held = false
if stored[2] or #ARGV >= RECORDS then
  -- include records
  local records = {}
  held = stored[2] and parse_record(stored[2])
  records[REQUEST] = held
  for at = RECORDS, #ARGV, RECORD do
    local request, charge, tokens = ARGV[at + OF_REQUEST], ARGV[at + OF_CHARGE], ARGV[at + OF_TOKENS]
    local record = records[request]
    if record == nil then
      local text = stored[(at - RECORDS) / RECORD + 3]
      record = text and parse_record(text)
      records[request] = record
    end
    -- include ending
  end
end

-- The reply, whether an account without use gets one, and whether the request has a lease.
local plan, reply, is_taken, is_leased = facts[2], nil, false, false
if refusal then
  reply = { released, refusal }
elseif limited and (plan ~= PLAN_HINT or not is_hinted) then
  local policies = redis.call('HMGET', ACCOUNT, 'policy', 'policy:' .. KEY_HASH)
  reply = { released, 'plan', plan, policy_hint, policies[1] or '', policies[2] or '' }
elseif plan ~= PLAN_HINT then
  reply = { released, 'plan', plan }
else
  if limited and not project then project, changed = true, true end
  if others then
    for i = 1, #others do
      local other = others[i]
      local meter = meters[other.field]
      other.meter = meter
      if not meter then
        -- include new-meter
        other.meter = new_meter()
      end
      if not reply and other.monthly >= 0 and other.meter.known == 0 and TAKES ~= 'request' then
        -- From now on, the store keeps the totals of this key.
        if not meter then
          meters[other.field], changed_meters, metered = other.meter, changed_meters or {}, true
          changed_meters[other.field], is_taken = other.meter, true
        end
        reply = { released, 'cold', key_id }
      end
    end
  end
  if not reply and not known and TAKES ~= 'request' then reply = { released, 'cold' } end
end

if not reply then
  -- include decide
end
if is_taken or stored[1] and changed then
  -- include save
  -- Where nothing else runs, it may be the first.
  if is_leased and ran_before == 0 then redis.call('PEXPIRE', LEASES, kept_until - NOW_MS) end
end
return reply
