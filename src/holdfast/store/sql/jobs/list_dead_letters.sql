-- By fingerprint, those that were seen last first, each with its newest job.
SELECT seen.fingerprint, letter.kind, seen.jobs, seen.first_seen, seen.last_seen, job.error_code, job.reason,
  job.id AS job_id, job.number, job.job_type, job.queue
FROM (
  SELECT fingerprint, count(*) AS jobs, min(failed_at) AS first_seen, max(failed_at) AS last_seen,
    max(number) AS newest
  FROM dead_letters
  WHERE closed_at IS NULL AND fingerprint >= :first AND fingerprint <= :last
    AND (:poison = 0 OR EXISTS (SELECT 1 FROM jobs WHERE id = dead_letters.job_id AND error_code = 'ERR_POISON'))
  GROUP BY fingerprint
  HAVING max(failed_at) < :below_moment OR (max(failed_at) = :below_moment AND fingerprint < :below_fingerprint)
  ORDER BY last_seen DESC, fingerprint DESC LIMIT :limit
) AS seen
JOIN jobs AS job ON job.number = seen.newest
JOIN dead_letters AS letter ON letter.job_id = job.id
ORDER BY seen.last_seen DESC, seen.fingerprint DESC
