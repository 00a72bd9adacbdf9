-- Key states. 'key:<hash>' -> '<version> active|limited|dead <written at, ms>'. A dead key stays dead in every epoch: keys never
-- come back. A project's key is limited. Processes that know no limits of keys take that word for dead.
local function key_field(key_hash)
  return 'key:' .. key_hash
end

local function parse_key_state(text)
  if not text then return nil end
  local version, state, written_at = string.match(text, '^(%S+) (%a+) (%S+)$')
  local limited = state == 'limited'
  return { version = tonumber(version), active = limited or state == 'active', limited = limited,
    written_at = tonumber(written_at) }
end
