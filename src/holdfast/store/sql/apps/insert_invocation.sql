-- Once, however often the batch is sent.
INSERT INTO handler_invocations (@columns(new_invocation))
SELECT @columns(r.new_invocation)
@rows(r: new_invocation)
ON CONFLICT (id) DO NOTHING
