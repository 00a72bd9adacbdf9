-- The text of a record that is over.
local function over_record(record, tokens, version)
  return 'over ' .. record.window .. ' 0 ' .. (tokens and int(tokens) or '-') .. ' ' .. int(version) .. record.of
end
