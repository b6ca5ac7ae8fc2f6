-- Once, however often the batch is sent.
INSERT INTO job_executions (@columns(new_execution))
SELECT @columns(r.new_execution)
@rows(r: new_execution)
ON CONFLICT (id) DO NOTHING
