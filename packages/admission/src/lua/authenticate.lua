-- Returns the state of a key, and its account's quota status where the window's total is known. Changes nothing.
--
-- Returns { 'deny' }, { 'miss' } or { 'active', plan, overage (1 or 0), extra, used or -1 }.

local facts = redis.call('HMGET', ACCOUNT, 'epoch', 'plan', 'overage', 'extra', 'window', key_field(KEY_HASH), 'more_later')
local of_this_epoch = is_of_this_epoch(facts[1])
local key, extra = parse_key_state(facts[6]), present_extra(facts[4], facts[5], facts[7])
if key and not key.active then return { 'deny' } end
if not key or not of_this_epoch or not extra then return { 'miss' } end

local use = read_use()
local known = use.known and is_of_this_epoch(use.epoch) and use.window == WINDOW
local used = known and use.settled + use.ended or begins_empty(use) and 0 or -1
return { 'active', facts[2], tonumber(facts[3]), extra, used }
