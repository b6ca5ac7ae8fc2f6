-- A group that has ended goes on again; one that goes on stays as it is.
UPDATE job_groups SET reopened_at = :now
WHERE id = :group_id AND NOT EXISTS (
  SELECT 1 FROM jobs WHERE group_id = :group_id AND group_id IS NOT NULL AND finished_at IS NULL)
