UPDATE watches SET enabled = :enabled, revision = revision + 1, updated_at = :now WHERE id = :id AND enabled <> :enabled
