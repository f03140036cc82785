"""What clients may do to a server that is open to them, and what is turned away."""
