-- Those of these jobs whose queues count failures.
SELECT ended.id FROM json_array_elements_text(CAST(:ids AS json)) AS asked (id) JOIN jobs AS ended ON ended.id = asked.id
  JOIN queue_breakers AS b ON b.queue = ended.queue
