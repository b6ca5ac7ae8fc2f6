-- How many jobs of each queue a session runs.
SELECT queue, count(*) AS running FROM jobs WHERE state = 'RUNNING' AND session_id = :session_id GROUP BY queue
