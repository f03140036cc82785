"""The processes that a server is made of, and who starts them."""
