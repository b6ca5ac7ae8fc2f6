-- Another revision of a watch; what it has seen stays, unless it looks elsewhere now.
UPDATE watches SET
  kind = :kind, path = :path, globs = :globs, ignores = :ignores, gitignore = :gitignore, job_type = :job_type,
  queue = :queue, payload = :payload, subject = :subject, tenant = :tenant, priority = :priority,
  debounce_ms = :debounce_ms, max_wait_ms = :max_wait_ms, max_jobs = :max_jobs, initial = :initial,
  settle_ms = :settle_ms, timeout_ms = :timeout_ms, retry = :retry, cpu = :cpu, gpu = :gpu, io = :io,
  revision = revision + 1, scanned_at = CASE WHEN :is_rescanned = 1 THEN NULL ELSE scanned_at END, updated_at = :now
WHERE id = :id
