-- Who may call by TCP, what each may do, and who holds a session. Of tokens and secrets only hashes are kept.

CREATE TABLE users (
  id           TEXT COLLATE "C" PRIMARY KEY,
  name         TEXT COLLATE "C" NOT NULL,
  role         TEXT NOT NULL CHECK (role IN ('metrics', 'read', 'operate', 'admin')),
  token_hash   TEXT COLLATE "C" NOT NULL UNIQUE,
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT,
  last_used_at BIGINT,
  disabled_at  BIGINT
);

-- A name that was revoked is free again.
CREATE UNIQUE INDEX idx_users_name ON users (name) WHERE disabled_at IS NULL;

-- Only who knows the secret speaks for the session. One that was opened without goes on without.
ALTER TABLE sessions ADD COLUMN secret_hash TEXT;
