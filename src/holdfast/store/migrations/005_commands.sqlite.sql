-- Commands in whatever queue they are: a worker for all of them shall not walk past the jobs of others.

CREATE INDEX idx_jobs_commands ON jobs (queue, priority DESC, position, created_at, id)
  WHERE state = 'QUEUED' AND job_type = 'command';
