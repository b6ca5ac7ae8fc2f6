SELECT number, at, from_state, to_state, trigger, why FROM workspace_changes
WHERE workspace_id = :workspace_id AND number < :below ORDER BY number DESC LIMIT :limit
