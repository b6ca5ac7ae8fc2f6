INSERT INTO apps (app_key, instance_index, class, status) VALUES (:app_key, :instance_index, :class_name, 'waiting')
ON CONFLICT (app_key, instance_index) DO NOTHING
