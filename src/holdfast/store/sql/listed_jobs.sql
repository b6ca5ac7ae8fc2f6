-- Jobs by their numbers as a list shows them: of a document of more than :most bytes, its size and its beginning.
SELECT
  @columns(listed_job),
  CASE WHEN octet_length(payload) <= :most THEN payload END AS payload,
  octet_length(payload) AS payload_bytes,
  CASE WHEN octet_length(payload) > :most THEN substr(payload, 1, :head) END AS payload_head,
  CASE WHEN octet_length(result_summary) <= :most THEN result_summary END AS result_summary,
  octet_length(result_summary) AS result_summary_bytes,
  CASE WHEN octet_length(result_summary) > :most THEN substr(result_summary, 1, :head) END AS result_summary_head,
  CASE WHEN octet_length(checkpoint) <= :most THEN checkpoint END AS checkpoint,
  octet_length(checkpoint) AS checkpoint_bytes,
  CASE WHEN octet_length(checkpoint) > :most THEN substr(checkpoint, 1, :head) END AS checkpoint_head,
  CASE WHEN octet_length(env_vars) <= :most THEN env_vars END AS env_vars,
  octet_length(env_vars) AS env_vars_bytes,
  CASE WHEN octet_length(env_vars) > :most THEN substr(env_vars, 1, :head) END AS env_vars_head
FROM jobs WHERE number @in(:numbers BIGINT)
ORDER BY number DESC
