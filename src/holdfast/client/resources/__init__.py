"""What a client can do, by subject: the calls of `Holdfast`, and the handles that they return."""
