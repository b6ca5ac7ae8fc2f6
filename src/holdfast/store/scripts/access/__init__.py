"""Who may call: users with tokens, and sessions with secrets."""
