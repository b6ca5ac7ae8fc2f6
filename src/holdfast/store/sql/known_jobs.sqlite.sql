-- Which of these jobs exist.
SELECT id FROM jobs WHERE id IN (SELECT value FROM json_each(:ids))
