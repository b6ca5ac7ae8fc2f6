-- The next link of a retry chain: the same request, the tries used so far, its own id and history.
INSERT INTO jobs (
  id, queue, job_type, subject_key, generation, priority, position, state, created_at, scheduled_at, payload, reason,
  trace_id, execution_mode, env_vars, attempts, transient_tries, infra_tries, deaths, is_suspect, retry_mode,
  max_retries, max_infra, backoff_initial_ms, backoff_factor, backoff_cap_ms, retry_of, deadline, ttl_ms, timeout_ms,
  schedule_type, wait_for_idle, require_charging, template_id, schedule_id, fire_time, parent_job_id, group_id, group_seq,
  user_tag, tenant, cpu, gpu, io, node, has_aged, idempotency_key, trigger, checkpoint, stop_older
)
SELECT
  :new_id, queue, job_type, subject_key, generation, priority, position, 'SCHEDULED', :now, :until, payload, :reason,
  trace_id, execution_mode, env_vars, attempts, transient_tries, infra_tries, deaths, :is_suspect, retry_mode,
  max_retries, max_infra, backoff_initial_ms, backoff_factor, backoff_cap_ms, id, deadline, ttl_ms, timeout_ms,
  'AT', wait_for_idle, require_charging, template_id, schedule_id, fire_time, parent_job_id, group_id, group_seq,
  user_tag, tenant, cpu, gpu, io, node, has_aged, idempotency_key, trigger, checkpoint, stop_older
FROM jobs WHERE id = :job_id
