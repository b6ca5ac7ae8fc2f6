-- How many jobs of each queue ended since a moment, and how many of them were superseded; of very many, the newest.
SELECT queue, count(*) AS ended, sum(CASE WHEN state = 'SUPERSEDED' THEN 1 ELSE 0 END) AS superseded
FROM (
  SELECT queue, state FROM jobs WHERE finished_at IS NOT NULL AND finished_at > :since AND finished_at <= :upto
  ORDER BY finished_at DESC, number DESC LIMIT :most
) AS ended
GROUP BY queue
