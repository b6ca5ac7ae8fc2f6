-- A tenant that has ready jobs already waits for a turn from now on, like all others of the queue that have a row.
INSERT INTO tenants (queue, tenant, weight, is_waiting)
VALUES (:queue, :tenant, :weight, (
  SELECT count(*) FROM (
    SELECT 1 FROM jobs
    WHERE state = 'QUEUED' AND queue = :queue AND lane IN (0, 1, 2, 3) AND tenant = :tenant LIMIT 1) AS ready))
ON CONFLICT (queue, tenant) DO UPDATE SET weight = excluded.weight
