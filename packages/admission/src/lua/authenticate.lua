-- Returns the state of a key, and its account's quota status where the window's total is known. Changes nothing.
--
-- Returns { 'deny' }, { 'miss' } or { 'active', plan, overage (1 or 0), extra, used or -1 }. A project's key has behind them the hard
-- limit or -1, and its policies as `admit` returns them: hint, project's and key's.

-- include clock
-- include epoch
-- include keys
-- include limits
-- include facts
local facts = redis.call('HMGET', ACCOUNT, 'epoch', 'plan', 'overage', 'extra', 'window', key_field(KEY_HASH), 'more_later')
local of_this_epoch = is_of_this_epoch(facts[1])
local key, extra = parse_key_state(facts[6]), present_extra(facts[4], facts[5], facts[7])
if key and not key.active then return { 'deny' } end
local of_project = nil
if key and key.limited then
  local more = redis.call('HMGET', ACCOUNT, 'limits:' .. KEY_HASH, 'project', 'policy', 'policy:' .. KEY_HASH)
  local id, hint, expired = parse_limits(more[1])
  local hard_limit, policy_version = parse_project(more[2])
  if expired then return { 'deny' } end
  if not id or not hard_limit then return { 'miss' } end
  of_project = { hard_limit, policy_version .. '.' .. hint, more[3] or '', more[4] or '' }
end
if not key or not of_this_epoch or not extra then return { 'miss' } end

local stored = { redis.call('HGET', USE, 'state') }
-- include state
local used = -1
if known and is_of_this_epoch(epoch) then
  if window == WINDOW then used = settled + ended elseif WINDOW > latest then used = 0 end
end
local active = { 'active', facts[2], tonumber(facts[3]), extra, used }
for _, fact in ipairs(of_project or {}) do active[#active + 1] = fact end
return active
