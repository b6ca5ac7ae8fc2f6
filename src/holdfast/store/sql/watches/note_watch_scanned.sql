UPDATE watches SET scanned_at = :now WHERE id = :id AND scanned_at IS NULL AND revision = :revision
