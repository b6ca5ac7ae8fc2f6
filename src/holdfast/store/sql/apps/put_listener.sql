-- One that is registered again goes on with its figures.
INSERT INTO listeners (@columns(new_listener))
SELECT @columns(r.new_listener)
@rows(r: new_listener)
ON CONFLICT (app_key, instance_index, name) DO UPDATE SET
  @part(set_listener),
  last_registered_at = excluded.last_registered_at, retired_at = NULL
