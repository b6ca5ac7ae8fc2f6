-- A clock that is set all the time must not fill the disk.
DELETE FROM clock_steps
WHERE ended_at IS NOT NULL AND number <= (SELECT max(number) FROM clock_steps) - :keep
