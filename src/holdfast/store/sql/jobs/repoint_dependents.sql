-- Whoever waited for the one waits for the other: the next link of a retry chain, or the member before.
UPDATE job_conditions SET key = :new_key WHERE key = :old_key AND satisfied_at IS NULL
