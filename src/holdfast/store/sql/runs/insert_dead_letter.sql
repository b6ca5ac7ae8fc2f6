-- Of a job that did fail: whoever settles it a second time adds nothing.
INSERT INTO dead_letters (job_id, number, fingerprint, kind, failed_at)
SELECT id, number, :fingerprint, :kind, :now FROM jobs WHERE id = :job_id AND state = 'FAILED'
ON CONFLICT (job_id) DO NOTHING
