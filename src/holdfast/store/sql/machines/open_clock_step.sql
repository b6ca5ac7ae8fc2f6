SELECT number, stepped_at, step_ms, upto_number, cursor_queue, cursor_number, moved FROM clock_steps
WHERE ended_at IS NULL ORDER BY number LIMIT 1
