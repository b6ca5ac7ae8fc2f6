-- How many wait for a turn in each queue, by what decides how much their word counts.
SELECT queue, weight, active_until, count(*) AS tenants FROM tenants
WHERE is_waiting = 1 AND queue <> '' AND (CAST(:queue AS TEXT) IS NULL OR queue = :queue)
GROUP BY queue, weight, active_until
