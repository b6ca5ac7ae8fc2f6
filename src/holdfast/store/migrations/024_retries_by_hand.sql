-- A retry by hand keeps what the job was asked for, and both jobs name each other.

-- Whether a newer generation asks the running one to stop.
ALTER TABLE jobs ADD COLUMN stop_older @integer NOT NULL DEFAULT 0 CHECK (stop_older IN (0, 1));

-- The job that a person had run once more; this one is the other try.
ALTER TABLE jobs ADD COLUMN retried_from @key;

CREATE INDEX idx_jobs_retried_from ON jobs (retried_from) WHERE retried_from IS NOT NULL;

-- Since when the group goes on again after it had ended, the last time that happened.
ALTER TABLE job_groups ADD COLUMN reopened_at @integer;

DROP INDEX idx_jobs_group_live;

CREATE INDEX idx_jobs_group_live ON jobs (group_id, number) WHERE group_id IS NOT NULL AND finished_at IS NULL;
