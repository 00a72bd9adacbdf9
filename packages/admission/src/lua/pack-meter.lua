local function pack_meter(m)
  return struct.pack(METER, m.known, m.settled, m.version, m.running, m.ended, m.level or 0, m.level_at, m.tpm, m.day,
    m.day_count, m.logged, m.log_from, m.log_until) .. m.tail
end
