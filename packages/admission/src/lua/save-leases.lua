-- Saves the use, and keeps the running requests `leased` until `lapses_at`.
next_lapse = min(next_lapse, lapses_at)
-- Adds come before removals: Redis drops an empty set, and creates the next one without its expiry.
for i = 1, #leased do redis.call('ZADD', LEASES, lapses_at, leased[i]) end
-- include save
-- Where nothing else runs, they may be the first.
if ran_before == 0 then redis.call('PEXPIRE', LEASES, kept_until - NOW_MS) end
