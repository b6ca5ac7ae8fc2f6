-- Jobs by their numbers as a list shows them: of a document of more than :most bytes, its size and its beginning.
SELECT
  @columns(listed_job),
  @part(documents)
FROM jobs WHERE number @in(:numbers BIGINT)
ORDER BY number DESC
