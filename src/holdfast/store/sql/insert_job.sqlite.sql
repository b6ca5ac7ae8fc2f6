INSERT INTO jobs (
  id, queue, job_type, subject_key, generation, priority, position, state, created_at, queued_at, finished_at,
  payload, error_code, reason, trace_id, retry_mode, max_retries, max_infra, backoff_initial_ms, backoff_factor,
  backoff_cap_ms, deadline, ttl_ms, timeout_ms, schedule_type, scheduled_at, schedule_delay_ms, open_conditions,
  parent_job_id, group_id, group_seq, user_tag, tenant, idempotency_key, trigger, wait_for_idle,
  require_charging, wait_for_event, template_id, schedule_id, fire_time, retry_of, cpu, gpu, io,
  stop_older, retried_from, node
) VALUES (
  :id, :queue, :job_type, :subject_key, :generation, :priority, :position, :state, :created_at, :queued_at, :finished_at,
  :payload, :error_code, :reason, :trace_id, :retry_mode, :max_retries, :max_infra, :backoff_initial_ms, :backoff_factor,
  :backoff_cap_ms, :deadline, :ttl_ms, :timeout_ms, :schedule_type, :scheduled_at, :schedule_delay_ms, :open_conditions,
  :parent_job_id, :group_id, :group_seq, :user_tag, :tenant, :idempotency_key, :trigger, :wait_for_idle,
  :require_charging, :wait_for_event, :template_id, :schedule_id, :fire_time, :retry_of, :cpu, :gpu, :io,
  :stop_older, :retried_from, :node
)
