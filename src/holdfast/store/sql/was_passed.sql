-- Since when others had passed a job for want of tokens, or NULL.
SELECT tokens_since FROM jobs WHERE id = :job_id
