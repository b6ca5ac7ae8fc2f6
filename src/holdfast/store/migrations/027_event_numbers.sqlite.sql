-- Events have numbers in the order of their commits, and may have any JSON beside their attributes.

CREATE TABLE numbered_events (
  -- Never given twice, and given under the lock of the writers: in the order of the commits.
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  id           TEXT NOT NULL,
  name         TEXT NOT NULL,
  attributes   TEXT NOT NULL DEFAULT '{}',
  emitted_at   INTEGER NOT NULL,
  trigger      TEXT,
  -- The newest job at that moment: those that come later wait for the next event.
  upto_number  INTEGER NOT NULL,
  is_spreading INTEGER NOT NULL DEFAULT 0 CONSTRAINT events_is_spreading_check CHECK (is_spreading IN (0, 1)),
  -- JSON. It stands last, as it may be long and few statements read it.
  data         TEXT
) STRICT;

INSERT INTO numbered_events (id, name, attributes, emitted_at, trigger, upto_number, is_spreading)
SELECT id, name, attributes, emitted_at, trigger, upto_number, is_spreading FROM events ORDER BY emitted_at, id;

DROP TABLE events;
ALTER TABLE numbered_events RENAME TO events;

CREATE UNIQUE INDEX idx_events_id ON events (id);
CREATE INDEX idx_events_emitted ON events (emitted_at, number);
CREATE INDEX idx_events_name ON events (name, number);
CREATE INDEX idx_events_spreading ON events (number) WHERE is_spreading = 1;
