-- A retry chain goes on: whoever waited for the old link waits for the new one.
UPDATE job_conditions SET key = :new_key WHERE key = :old_key AND satisfied_at IS NULL
