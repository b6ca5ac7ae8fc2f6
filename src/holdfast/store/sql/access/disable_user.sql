UPDATE users SET disabled_at = :now WHERE id = :id
