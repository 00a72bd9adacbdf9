-- A request has ended.
--
-- Returns { released leases }.

local use, released, records = open_use({ REQUEST })
end_request(use, REQUEST, records[REQUEST], tonumber(CHARGE), tonumber(TOKENS))
save_upkeep(use)
return { released }
