"""What stands around a server that runs for others: how it is, what it does, who holds what."""
