-- One that is registered again goes on with its figures.
INSERT INTO scheduled_jobs (@columns(new_timer))
SELECT @columns(r.new_timer)
@rows(r: new_timer)
ON CONFLICT (app_key, instance_index, job_name) DO UPDATE SET
  @part(set_timer),
  last_registered_at = excluded.last_registered_at, retired_at = NULL
