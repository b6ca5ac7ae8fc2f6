-- Machines that nobody works on any more. One that is never idle changes no row either, but somebody is there.
DELETE FROM machines
WHERE updated_at < :before AND NOT EXISTS (
    SELECT 1 FROM sessions AS s WHERE s.node = machines.node AND s.status = 'running')
