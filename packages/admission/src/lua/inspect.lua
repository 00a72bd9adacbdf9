-- Returns all that is held of an account, to compare it with the services that own it. Changes nothing.
--
-- Returns { the present window,
--   { version, plan, overage, extra } of this epoch and window, or {},
--   { key hash, version, active (1 or 0), ... },
--   { settled, version } where the window's total is known, or {},
--   { running, ended }: the sums that admission goes by,
--   { key id, settled, version, running, ended, ... of keys whose total is known },
--   { request id, 'running' or 'ended', amount, whether its lease is over or gone (1 or 0), key id or '', ... of this window }.

-- include clock
-- include epoch
-- include keys
-- include facts
-- include records
-- include meter
-- include unpack-meter
local held = redis.call('HGETALL', ACCOUNT)
local facts, keys = {}, {}
for i = 1, #held, 2 do facts[held[i]] = held[i + 1] end
local of_this_epoch = is_of_this_epoch(facts.epoch)
for field, text in pairs(facts) do
  if string.sub(field, 1, 4) == 'key:' then
    local state = parse_key_state(text)
    -- A living one of another epoch is not believed.
    if of_this_epoch or not state.active then
      keys[#keys + 1] = string.sub(field, 5)
      keys[#keys + 1] = int(state.version)
      keys[#keys + 1] = state.active and 1 or 0
    end
  end
end
local plan = {}
local extra = present_extra(facts.extra, facts.window, facts.more_later)
if of_this_epoch and extra then plan = { facts.version, facts.plan, facts.overage, int(extra) } end

local stored = { redis.call('HGET', USE, 'state') }
-- include state
if not is_of_this_epoch(epoch) or window ~= WINDOW then
  return { WINDOW, plan, keys, {}, { 0, 0 }, {}, {} }
end
local total = known and { int(settled), int(version) } or {}

local requests, key_totals = {}, {}
local fields = redis.call('HGETALL', USE)
for i = 1, #fields, 2 do
  if string.sub(fields[i], 1, 8) == 'request:' then
    local id, record = string.sub(fields[i], 9), parse_record(fields[i + 1])
    if record.window == WINDOW and not record.over then
      local lapses_at = record.running and redis.call('ZSCORE', LEASES, id)
      local lapsed = record.running and (not lapses_at or tonumber(lapses_at) <= NOW_MS)
      local count = #requests
      requests[count + 1], requests[count + 2] = id, record.running and 'running' or 'ended'
      requests[count + 3], requests[count + 4] = int(record.amount), lapsed and 1 or 0
      requests[count + 5] = record.key and string.sub(record.key, 5) or ''
    end
  elseif string.sub(fields[i], 1, 4) == 'key:' then
    local meter = unpack_meter(fields[i + 1])
    if meter.known == 1 then
      key_totals[#key_totals + 1] = string.sub(fields[i], 5)
      for _, name in ipairs({ 'settled', 'version', 'running', 'ended' }) do
        key_totals[#key_totals + 1] = int(meter[name])
      end
    end
  end
end
return { WINDOW, plan, keys, total, { int(running), int(ended) }, key_totals, requests }
