INSERT INTO jobs (@columns(new_job))
SELECT @columns(r.new_job)
@rows(r: new_job)
RETURNING number
