-- Which of these jobs exist.
SELECT id FROM jobs WHERE id @in(:ids)
