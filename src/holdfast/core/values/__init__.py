"""What a job, a queue or a watch may be given."""
