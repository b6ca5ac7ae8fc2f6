"""What is known of a machine and its clock, and whom its files belong to."""
