SELECT m.is_idle, m.is_charging FROM machines AS m JOIN sessions AS s ON s.node = m.node WHERE s.id = :session_id
