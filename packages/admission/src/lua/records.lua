-- Records of requests. 'request:<id>' -> '<state> <window> <amount> <tokens>'. The buckets hold so many tokens of the request;
-- '-' where the store has lost that number, and then nothing corrects it.
--   running  may cost the amount at most; the tokens are reserved
--   ended    has cost the amount, which the ledger does not yet include
--   over     holds nothing of the allowance: its lease has lapsed, it has cost nothing, or the ledger includes it by a
--            report that another may replace. Its tokens may still turn out to be others. A next figure is the version
--            of the total that brought them, or -1 where the ledger has not reported it.
-- Of a project, ' <buckets> <key id> <model>' comes at the end. The buckets that hold its tokens beside the account's: 'k' of
-- the key, 'm' of the model, '-' none.

local function parse_record(text)
  local state, window, amount, tokens, of = string.match(text, '^(%a+) (%S+) (%S+) ?(%S*)(.*)$')
  local over, version = state == 'over', nil
  if over then version, of = string.match(of, '^ (%S+)(.*)$') end
  if of == '' then
    return { running = state == 'running', over = over, window = window, amount = amount + 0, tokens = tonumber(tokens),
      version = tonumber(version), of = of }
  end
  local buckets, key_id, model = string.match(of, '^ (%S+) (%S+) ?(.*)$')
  local key, in_model = 'key:' .. key_id, string.find(buckets, 'm', 1, true) and 'model:' .. model
  return { running = state == 'running', over = over, window = window, amount = amount + 0, tokens = tonumber(tokens),
    version = tonumber(version), of = of, key = key, in_key = string.find(buckets, 'k', 1, true) and key, in_model = in_model }
end
