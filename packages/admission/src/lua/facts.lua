-- The top-ups of the present window, from facts that were read in `of_window`. A later window begins without any, unless keys
-- knows of some that wait there (`more_later`). Nil: only keys knows.
local function present_extra(extra, of_window, more_later)
  if of_window == WINDOW then return tonumber(extra) end
  if of_window and of_window ~= '' and of_window < WINDOW and more_later ~= '1' then return 0 end
  return nil
end
