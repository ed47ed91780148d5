"""Guards the machine's state: what it is, whether it is free, and whether it slowed itself down meanwhile."""
