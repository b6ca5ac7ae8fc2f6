INSERT INTO workspaces (id, owner_user_id, name, description, image_ref, instance_backend, storage_backend, home_store_key,
  desired_state, standby_ttl_seconds, archive_ttl_seconds, created_at, updated_at, phase_changed_at, node, command, env)
VALUES (:id, :owner_user_id, :name, :description, :image_ref, :instance_backend, :storage_backend, :home_store_key,
  :desired_state, :standby_ttl_seconds, :archive_ttl_seconds, :now, :now, :now, :node, :command, :env)
