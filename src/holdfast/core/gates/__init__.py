"""What holds a queue or a job back."""
