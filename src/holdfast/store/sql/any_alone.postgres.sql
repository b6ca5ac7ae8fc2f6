-- A sign that a job waits to run with nothing beside it, or that one of these jobs runs so.
SELECT coalesce(
  (SELECT min(is_suspect) FROM jobs WHERE state = 'QUEUED' AND is_suspect = 1),
  (SELECT max(is_suspect) FROM jobs WHERE is_suspect = 1 AND id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS json))))))
