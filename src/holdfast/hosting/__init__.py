"""What runs the jobs of a program in its process: the session, its loops, and how they start and stop."""
