SELECT job_type, subject_key, count(*) AS running FROM jobs
WHERE state = 'RUNNING' AND subject_key IS NOT NULL
GROUP BY job_type, subject_key HAVING count(*) > 1
