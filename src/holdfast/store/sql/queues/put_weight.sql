-- A tenant that has ready jobs already waits for a turn from now on, like all others of the queue that have a row.
WITH RECURSIVE @part(lanes)
INSERT INTO tenants (queue, tenant, weight, is_waiting)
VALUES (:queue, :tenant, :weight, (
  SELECT count(*) FROM (
    SELECT 1 FROM jobs
    WHERE state = 'QUEUED' AND queue = :queue AND lane IN (SELECT lane FROM lanes) AND tenant = :tenant LIMIT 1) AS ready))
@upsert(queue, tenant: weight)
