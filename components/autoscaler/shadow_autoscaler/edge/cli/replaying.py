"""`replay`."""
