INSERT INTO workspace_changes (workspace_id, from_state, to_state, at, trigger, why)
VALUES (:workspace_id, :from_state, :to_state, :now, :trigger, :why)
