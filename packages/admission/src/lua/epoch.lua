-- Returns true where a state belongs to this epoch. Refuses state of a layout that this process does not know.
local function is_of_this_epoch(epoch)
  if epoch == EPOCH then return true end
  local layout = tonumber(epoch and string.match(epoch, '^(%d+)/') or 1)
  if layout > PROJECT_LAYOUT then
    error('NEWERLAYOUT state of layout ' .. layout .. ', and this process knows ' .. PROJECT_LAYOUT .. ' at most')
  end
  return false
end
