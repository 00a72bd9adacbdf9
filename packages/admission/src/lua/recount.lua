-- Counts the pending sums again from the records, and gives up running requests whose lease is over or gone.
--
-- Returns { released leases }.

local use, released = open_use({})
if use.exists then
  local running, ended = 0, 0
  local fields = redis.call('HGETALL', USE)
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 8) == 'request:' then
      local record = parse_record(fields[i + 1])
      local request = string.sub(fields[i], 9)
      if record.running and not redis.call('ZSCORE', LEASES, request) then
        keep_over(use, request, record.window, record.tokens, -1)
        released = released + 1
      elseif record.window == WINDOW and not record.over then
        if record.running then running = running + record.amount else ended = ended + record.amount end
      end
    end
  end
  use.running, use.ended = running, ended
  save_use(use)
end
return { released }
