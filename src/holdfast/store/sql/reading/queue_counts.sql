SELECT queue, state, jobs FROM queue_counts WHERE jobs > 0 ORDER BY queue, state
