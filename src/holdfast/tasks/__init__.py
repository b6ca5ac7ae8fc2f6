"""How a function of a user is called: its arguments, its context, and what its end means."""
