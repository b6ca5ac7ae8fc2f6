-- One suspect, if nothing else holds it.
SELECT @part(claimed_columns)
FROM jobs
WHERE number = :number AND state = 'QUEUED' AND (lane & 31 & :open_lanes) = (lane & 31) AND node IN (0, :node)
  AND @part(claimable)
