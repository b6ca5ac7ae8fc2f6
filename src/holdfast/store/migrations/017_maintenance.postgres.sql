-- What the database needs now and then: when each chore is due, and the job that did it last.

CREATE TABLE maintenance (
  task   TEXT COLLATE "C" PRIMARY KEY,
  due_at BIGINT NOT NULL,
  job_id TEXT COLLATE "C"
);
