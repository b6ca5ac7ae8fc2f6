-- Lines in which two jobs stand so close that none can be put between them, or that have come very far.
SELECT queue, tenant, priority, count(*) AS jobs, max(position) AS highest
FROM (
  SELECT queue, tenant, priority, position,
    position - lag(position) OVER (PARTITION BY queue, tenant, priority ORDER BY position, created_at, id) AS gap
  FROM jobs WHERE state = 'QUEUED'
) AS places
GROUP BY queue, tenant, priority
HAVING min(gap) < :gap OR max(position) > :highest
LIMIT :limit
