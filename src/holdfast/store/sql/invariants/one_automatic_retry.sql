SELECT retry_of, count(*) AS retries FROM jobs WHERE retry_of IS NOT NULL GROUP BY retry_of HAVING count(*) > 1
