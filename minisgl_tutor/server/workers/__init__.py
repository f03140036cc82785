"""A parent and its worker processes: how they start, show that they live, and end together."""
