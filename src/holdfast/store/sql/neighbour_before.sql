-- The place of the ready job ahead of another one. Two jobs may share a place, so the whole order counts.
SELECT position FROM jobs
WHERE state = 'QUEUED' AND queue = :queue AND priority = :priority
  AND (position, created_at, id) < (:position, :created_at, :id)
ORDER BY position DESC, created_at DESC, id DESC LIMIT 1
