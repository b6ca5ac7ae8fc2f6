-- What a claim needs to know of a job. Long documents are read when the job is claimed.
number, id, job_type, attempts, @columns(told_options), checkpoint,
CASE WHEN octet_length(payload) + coalesce(octet_length(env_vars), 0) <= 65536 THEN payload END AS payload,
CASE WHEN octet_length(payload) + coalesce(octet_length(env_vars), 0) <= 65536 THEN env_vars END AS env_vars,
octet_length(payload) + coalesce(octet_length(env_vars), 0) + coalesce(octet_length(checkpoint), 0) AS size,
is_suspect, queued_at, template_id, priority, position, created_at, tenant
