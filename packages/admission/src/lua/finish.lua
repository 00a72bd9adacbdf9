-- A request has ended.
--
-- ARGV  3 request id, 4 charge, 5 tokens
-- Answers { released leases }.

local REQUEST = ARGV[3]
local use, released, records = open_use({ REQUEST })
end_request(use, REQUEST, records[REQUEST], tonumber(ARGV[4]), tonumber(ARGV[5]))
save_upkeep(use)
return { released }
