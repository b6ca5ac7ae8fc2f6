-- Jobs by their numbers as a list shows them: of a document of more than :most bytes, its size and its beginning.
SELECT
  id, number, queue, job_type, subject_key, generation, priority, position, state, created_at, queued_at, started_at,
  finished_at, session_id, worker_id, run_id, error_code, reason, trace_id, attempts, transient_tries, infra_tries,
  deaths, retry_mode, max_retries, max_infra, backoff_initial_ms, backoff_factor, backoff_cap_ms, retry_of, deadline,
  ttl_ms, timeout_ms, cancel_requested_at, scheduled_at, parent_job_id, group_id, group_seq, user_tag, tenant,
  idempotency_key, trigger, progress, progress_text, wait_for_idle, require_charging, wait_for_event, template_id,
  schedule_id, fire_time, cpu, gpu, io, stop_older, retried_from, node,
  CASE WHEN octet_length(payload) <= :most THEN payload END AS payload,
  octet_length(payload) AS payload_bytes,
  CASE WHEN octet_length(payload) > :most THEN substr(payload, 1, :head) END AS payload_head,
  CASE WHEN octet_length(result_summary) <= :most THEN result_summary END AS result_summary,
  octet_length(result_summary) AS result_summary_bytes,
  CASE WHEN octet_length(result_summary) > :most THEN substr(result_summary, 1, :head) END AS result_summary_head,
  CASE WHEN octet_length(checkpoint) <= :most THEN checkpoint END AS checkpoint,
  octet_length(checkpoint) AS checkpoint_bytes,
  CASE WHEN octet_length(checkpoint) > :most THEN substr(checkpoint, 1, :head) END AS checkpoint_head
FROM jobs WHERE number IN (SELECT CAST(key AS BIGINT) FROM json_each(:numbers))
ORDER BY number DESC
