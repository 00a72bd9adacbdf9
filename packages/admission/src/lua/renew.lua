-- Keeps running requests of one account. One whose lease has lapsed, or that the store has lost, is held again where the caller
-- gives its worst charge. The bucket holds nothing of a request that the store has lost, so its end corrects nothing. One that
-- the ledger includes is not held again.
--
-- Returns { released leases, ids that are not held... }.

-- include clock
local fields = { 'state' }
-- include open
-- include records
-- include sums
local reply, leased, held_again = { released }, {}, {}
for at = RECORDS, #ARGV, RECORD do
  local request, worst, of_window = ARGV[at + OF_REQUEST], ARGV[at + OF_WORST_CHARGE], ARGV[at + OF_WINDOW]
  local text = redis.call('HGET', USE, 'request:' .. request)
  local record = text and parse_record(text)
  local runs = held_again[request] or (record and record.running)
  local may_be_held = not record or (record.over and record.version < 0)
  if not runs and may_be_held and worst ~= '' then
    held_again[request] = true
    if of_window == '' then of_window = WINDOW end
    local key_id = ARGV[at + OF_KEY_ID]
    if key_id ~= '' then project = true end
    local again = record or parse_record('running ' .. of_window .. ' 0 -' .. (key_id ~= '' and ' - ' .. key_id or ''))
    local tokens, count = again.tokens and int(again.tokens) or '-', #writes
    writes[count + 1], writes[count + 2] = 'request:' .. request,
      'running ' .. of_window .. ' ' .. worst .. ' ' .. tokens .. again.of
    if of_window == WINDOW then add_to_sum(again, 'running', tonumber(worst)) end
    runs = true
  end
  if runs then
    leased[#leased + 1] = request
  else
    reply[#reply + 1] = request
  end
end

if #leased > 0 then
  local lapses_at = NOW_MS + LEASE_MS
  -- include save-leases
elseif stored[1] and changed then
  -- include save
end
return reply
