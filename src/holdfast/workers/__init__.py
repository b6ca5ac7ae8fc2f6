"""Running user code: payload schemas, the context a task sees, the runner, and the exchange with the store."""
