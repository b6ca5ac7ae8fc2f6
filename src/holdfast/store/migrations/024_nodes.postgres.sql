-- Machines are known by an id that each keeps in its home.

CREATE TABLE nodes (
  number  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Before machines had ids, the name was all that was known of one: there it stands for the id until the machine is back.
  id      TEXT COLLATE "C" NOT NULL UNIQUE,
  name    TEXT COLLATE "C" NOT NULL UNIQUE,
  -- When a session of it last began.
  seen_at BIGINT NOT NULL
);

INSERT INTO nodes (id, name, seen_at)
SELECT node, node, max(seen_at) FROM (
  SELECT node, last_heartbeat_at AS seen_at FROM sessions
  UNION ALL SELECT node, updated_at FROM machines
  UNION ALL SELECT node, set_at FROM node_tokens
  UNION ALL SELECT node, created_at FROM watches) AS known
GROUP BY node ORDER BY node;

-- The name that its machine gives itself: processes are known by their numbers only where that is the same.
ALTER TABLE sessions ADD COLUMN host TEXT COLLATE "C" NOT NULL DEFAULT '';
UPDATE sessions SET host = node;
