-- A request has ended.
--
-- Returns { released leases }.

-- include clock
local fields = { 'state', 'request:' .. REQUEST }
-- include open
if stored[2] then
  -- include records
  local request, record, charge, tokens = REQUEST, parse_record(stored[2]), CHARGE, TOKENS
  -- include ending
end
-- After a call that decided nothing: an account without use gets none.
if stored[1] and changed then
  -- include save
end
return { released }
