-- What the database needs now and then: when each chore is due, and the job that did it last.

CREATE TABLE maintenance (
  task   TEXT PRIMARY KEY,
  due_at INTEGER NOT NULL,
  job_id TEXT
) STRICT, WITHOUT ROWID;
