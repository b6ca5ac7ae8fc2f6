-- Dead letters: jobs that failed for good, by what they failed of, until somebody has dealt with them.

-- A job that failed before there were fingerprints has an empty one until it is computed.
CREATE TABLE dead_letters (
  job_id      TEXT COLLATE "C" PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
  number      BIGINT NOT NULL,
  fingerprint TEXT COLLATE "C" NOT NULL,
  kind        TEXT COLLATE "C" NOT NULL CHECK (kind IN ('transient', 'permanent', 'infra')),
  failed_at   BIGINT NOT NULL,
  closed_at   BIGINT,
  closed_as   TEXT COLLATE "C" CHECK (closed_as IN ('retried', 'discarded', 'outdated')),
  closed_by   TEXT COLLATE "C",
  reason      TEXT COLLATE "C",
  retried_as  TEXT COLLATE "C",
  CHECK ((closed_at IS NULL) = (closed_as IS NULL))
);

CREATE INDEX idx_dead_letters_open ON dead_letters (fingerprint, number, failed_at) WHERE closed_at IS NULL;

INSERT INTO dead_letters (job_id, number, fingerprint, kind, failed_at)
SELECT id, number, '',
  coalesce(
    (SELECT error_kind FROM job_runs WHERE job_id = jobs.id AND status = 'FAILED' ORDER BY attempt DESC LIMIT 1),
    'transient'),
  finished_at
FROM jobs
WHERE state = 'FAILED' AND NOT (queue = 'holdfast' OR substr(queue, 1, 9) = 'holdfast.')
  AND NOT EXISTS (SELECT 1 FROM jobs AS link WHERE link.retry_of = jobs.id AND link.retry_of IS NOT NULL);
