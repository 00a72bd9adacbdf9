-- 'limits:<hash>' of a limited key, and 'project': figures and texts. They have the epoch of their own, since a process that
-- knows no projects may write the account's facts after a restart. -1: no such limit.
local LIMITS, PROJECT, MODEL_LIMITS = '<ddddsss', '<dss', '<ddd'

-- Returns the key's id, policy version, whether it is expired, and limits; nil where keys must fill them.
local function parse_limits(text)
  if not text then return nil end
  local expires_at, monthly, rpm, tpm, id, hint, of_epoch = struct.unpack(LIMITS, text)
  if of_epoch ~= EPOCH then return nil end
  return id, hint, expires_at >= 0 and expires_at <= NOW_MS, monthly, rpm, tpm
end

-- The hard limit, and the version of the policy; nil where keys must fill it.
local function parse_project(text)
  if not text then return nil end
  local hard, version, of_epoch = struct.unpack(PROJECT, text)
  if of_epoch ~= EPOCH then return nil end
  return hard, version
end
