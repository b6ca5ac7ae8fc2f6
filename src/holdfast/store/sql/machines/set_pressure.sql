UPDATE machines
SET holds = :holds, pull_interval_ms = :pull_interval_ms, pressure = :pressure, refuses = :refuses,
  refuses_until = :refuses_until
WHERE node = :node
