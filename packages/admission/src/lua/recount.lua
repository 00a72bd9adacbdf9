-- Counts the pending sums again from the records, and gives up running requests whose lease is over or gone.
--
-- Returns { released leases }.

-- include clock
local fields = { 'state' }
-- include open
if stored[1] then
  -- include records
  -- include sums
  -- include keep-over
  running, ended = 0, 0
  local held = redis.call('HGETALL', USE)
  for i = 1, #held, 2 do
    if string.sub(held[i], 1, 8) == 'request:' then
      local record = parse_record(held[i + 1])
      local request = string.sub(held[i], 9)
      if record.running and not redis.call('ZSCORE', LEASES, request) then
        keep_over(request, record, record.tokens, -1)
        released = released + 1
      elseif record.window == WINDOW and not record.over then
        if record.running then running = running + record.amount else ended = ended + record.amount end
      end
    end
  end
  if metered then
    -- include count-keys
    count_keys()
  end
  -- include save
end
return { released }
