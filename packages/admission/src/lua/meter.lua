-- Meters of keys and models. 'key:<id>' and 'model:<id>' -> figures with the names that they have in an account's use, as
-- 8 bytes each:
--   known (1 or 0), settled, version, running, ended, level, level_at, tpm (0: the bucket was never used), day, day_count,
--   logged, log_from    the entries of the log, and those that are known to be a minute old
--   log_until           the log is empty from then on
-- and `tail`: the last entries of the log, which are not yet in its string. The sums of a key count while its total is known. A
-- model has none.
local METER, METER_BYTES = '<ddddddddddddd', 104
