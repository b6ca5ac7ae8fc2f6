SELECT letter.job_id, job.state
FROM dead_letters AS letter JOIN jobs AS job ON job.id = letter.job_id
WHERE job.state <> 'FAILED'
