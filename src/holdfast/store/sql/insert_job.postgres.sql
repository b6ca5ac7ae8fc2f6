INSERT INTO jobs (
  id, queue, job_type, subject_key, generation, priority, position, state, created_at, queued_at, finished_at,
  payload, error_code, reason, trace_id, retry_mode, max_retries, max_infra, backoff_initial_ms, backoff_factor,
  backoff_cap_ms, deadline, ttl_ms, timeout_ms, schedule_type, scheduled_at, schedule_delay_ms, open_conditions,
  parent_job_id, group_id, group_seq, user_tag, tenant, idempotency_key, trigger, wait_for_idle,
  require_charging, wait_for_event, template_id, schedule_id, fire_time, retry_of, cpu, gpu, io,
  stop_older, retried_from, node
)
SELECT
  id, queue, job_type, subject_key, generation, priority, position, state, created_at, queued_at, finished_at,
  payload, error_code, reason, trace_id, retry_mode, max_retries, max_infra, backoff_initial_ms, backoff_factor,
  backoff_cap_ms, deadline, ttl_ms, timeout_ms, schedule_type, scheduled_at, schedule_delay_ms, open_conditions,
  parent_job_id, group_id, group_seq, user_tag, tenant, idempotency_key, trigger, wait_for_idle,
  require_charging, wait_for_event, template_id, schedule_id, fire_time, retry_of, cpu, gpu, io,
  stop_older, retried_from, node
FROM ROWS FROM (
  json_to_recordset(CAST(:rows AS json)) AS (
    id TEXT, queue TEXT, job_type TEXT, subject_key TEXT, generation BIGINT, priority BIGINT, position BIGINT, state TEXT,
    created_at BIGINT, queued_at BIGINT, finished_at BIGINT, payload TEXT, error_code TEXT, reason TEXT, trace_id TEXT,
    retry_mode TEXT, max_retries BIGINT, max_infra BIGINT, backoff_initial_ms BIGINT, backoff_factor DOUBLE PRECISION,
    backoff_cap_ms BIGINT, deadline BIGINT, ttl_ms BIGINT, timeout_ms BIGINT, schedule_type TEXT, scheduled_at BIGINT,
    schedule_delay_ms BIGINT, open_conditions BIGINT, parent_job_id TEXT, group_id TEXT, group_seq BIGINT, user_tag TEXT,
    tenant TEXT, idempotency_key TEXT, trigger TEXT, wait_for_idle BIGINT, require_charging BIGINT, wait_for_event TEXT,
    template_id TEXT, schedule_id TEXT, fire_time BIGINT, retry_of TEXT,
    cpu BIGINT, gpu BIGINT, io BIGINT, stop_older BIGINT, retried_from TEXT, node BIGINT)
) WITH ORDINALITY
ORDER BY ordinality
