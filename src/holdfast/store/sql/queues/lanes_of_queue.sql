-- The lanes of a queue that have ready jobs, beside the plain one: of jobs for any machine, and of those that are tied to this
-- one. One step of the index for each.
WITH RECURSIVE lanes (lane) AS (
  SELECT min(lane) FROM jobs WHERE state = 'QUEUED' AND queue = :queue AND lane > 0 AND lane < 32
  UNION ALL
  SELECT (
    SELECT min(other.lane) FROM jobs AS other
    WHERE other.state = 'QUEUED' AND other.queue = :queue AND other.lane > lanes.lane AND other.lane < 32)
  FROM lanes WHERE lanes.lane IS NOT NULL
), mine (lane) AS (
  SELECT min(lane) FROM jobs WHERE state = 'QUEUED' AND queue = :queue AND lane >= 32 * :node AND lane < 32 * :node + 32 AND lane > 0
  UNION ALL
  SELECT (
    SELECT min(other.lane) FROM jobs AS other
    WHERE other.state = 'QUEUED' AND other.queue = :queue AND other.lane > mine.lane AND other.lane < 32 * :node + 32)
  FROM mine WHERE mine.lane IS NOT NULL
)
SELECT lane FROM lanes WHERE lane IS NOT NULL
UNION
SELECT lane FROM mine WHERE lane IS NOT NULL
