-- Those of these jobs whose queues count failures.
SELECT ended.id FROM jobs AS ended CROSS JOIN queue_breakers AS b WHERE ended.id @in(:ids) AND b.queue = ended.queue
