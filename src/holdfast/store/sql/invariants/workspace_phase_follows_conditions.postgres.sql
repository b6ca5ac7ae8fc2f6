-- What a workspace is follows from what is known of its parts. While one is not known, it stays as it was.
SELECT name, phase, conditions FROM (
  SELECT name, phase, conditions, CAST(conditions AS json) -> 'policy.healthy' ->> 'status' AS healthy,
    CAST(conditions AS json) -> 'storage.volume_ready' ->> 'status' AS volume,
    CAST(conditions AS json) -> 'infra.container_ready' ->> 'status' AS instance,
    CAST(conditions AS json) -> 'storage.archive_ready' ->> 'status' AS archive,
    CAST(conditions AS json) -> 'storage.archive_ready' ->> 'reason' AS reason
  FROM workspaces WHERE deleted_at IS NULL AND conditions <> '{}') AS known
WHERE volume IS NOT NULL AND instance IS NOT NULL AND archive IS NOT NULL
  AND phase <> CASE
    WHEN healthy = 'false' THEN 'ERROR'
    WHEN volume = 'true' AND instance = 'true' THEN 'RUNNING'
    WHEN volume = 'true' THEN 'STANDBY'
    WHEN archive = 'true' OR reason IN ('ArchiveUnreachable', 'ArchiveTimeout') THEN 'ARCHIVED'
    ELSE 'PENDING' END
