-- A queue with a job that waits for the machine, or NULL; by the smallest, which every planner takes from their index.
SELECT min(queue) FROM jobs WHERE state = 'QUEUED' AND (lane & 31) > 0
