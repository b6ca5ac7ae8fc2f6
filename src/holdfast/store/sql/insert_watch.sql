INSERT INTO watches (
  id, name, node, origin, kind, path, globs, ignores, gitignore, job_type, queue, payload, subject, tenant, priority,
  debounce_ms, max_wait_ms, max_jobs, initial, settle_ms, timeout_ms, retry, cpu, gpu, io,
  created_at, updated_at
) VALUES (
  :id, :name, :node, :origin, :kind, :path, :globs, :ignores, :gitignore, :job_type, :queue, :payload, :subject,
  :tenant, :priority, :debounce_ms, :max_wait_ms, :max_jobs, :initial, :settle_ms, :timeout_ms,
  :retry, :cpu, :gpu, :io, :now, :now
)
