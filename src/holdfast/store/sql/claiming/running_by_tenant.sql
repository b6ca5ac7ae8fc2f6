-- How many jobs of each tenant of a queue a session runs.
SELECT tenant, count(*) AS running FROM jobs
WHERE state = 'RUNNING' AND session_id = :session_id AND queue = :queue GROUP BY tenant
