-- Jobs that were chosen by their numbers.
SELECT number, id, job_type, queue, attempts, subject_key, generation, timeout_ms, deadline, checkpoint,
  CASE WHEN octet_length(payload) <= 65536 THEN payload END AS payload,
  octet_length(payload) + coalesce(octet_length(checkpoint), 0) AS size,
  user_tag, trace_id, is_suspect, queued_at, template_id, priority, position, created_at, tenant
FROM jobs
WHERE number = ANY (ARRAY(SELECT CAST(json_array_elements_text(CAST(:numbers AS json)) AS BIGINT)))
