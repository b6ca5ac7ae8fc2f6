-- What a workspace is follows from what is known of its parts. While one is not known, it stays as it was.
SELECT name, phase, conditions FROM (
  SELECT name, phase, conditions, json_extract(conditions, '$."policy.healthy".status') AS healthy,
    json_extract(conditions, '$."storage.volume_ready".status') AS volume,
    json_extract(conditions, '$."infra.container_ready".status') AS instance,
    json_extract(conditions, '$."storage.archive_ready".status') AS archive,
    json_extract(conditions, '$."storage.archive_ready".reason') AS reason
  FROM workspaces WHERE deleted_at IS NULL AND conditions <> '{}') AS known
WHERE volume IS NOT NULL AND instance IS NOT NULL AND archive IS NOT NULL
  AND phase <> CASE
    WHEN healthy = 0 THEN 'ERROR'
    WHEN volume = 1 AND instance = 1 THEN 'RUNNING'
    WHEN volume = 1 THEN 'STANDBY'
    WHEN archive = 1 OR reason IN ('ArchiveUnreachable', 'ArchiveTimeout') THEN 'ARCHIVED'
    ELSE 'PENDING' END
