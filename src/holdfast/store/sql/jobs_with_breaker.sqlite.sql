-- Those of these jobs whose queues count failures.
SELECT ended.id FROM json_each(:ids) AS asked CROSS JOIN jobs AS ended ON ended.id = asked.value
  JOIN queue_breakers AS b ON b.queue = ended.queue
