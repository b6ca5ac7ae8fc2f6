-- A moment in the future is that of a clock which has been set back.
UPDATE users SET last_used_at = :now
WHERE id = :id AND (last_used_at IS NULL OR last_used_at <= :before OR last_used_at > :now)
