-- Another revision of a watch; what it has seen stays, unless it looks elsewhere now.
UPDATE watches SET
  (@columns(watch)) = (@columns(:watch)),
  revision = revision + 1, scanned_at = CASE WHEN :is_rescanned = 1 THEN NULL ELSE scanned_at END, updated_at = :now
WHERE id = :id
