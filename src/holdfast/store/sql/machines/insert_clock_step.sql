INSERT INTO clock_steps (noted_at, stepped_at, step_ms, total_ms, upto_number)
VALUES (:now, :stepped_at, :step_ms, :total_ms, :upto_number)
