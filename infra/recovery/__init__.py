"""After an `up` that was killed: finds what it asked for, so that the next `up` neither fails nor leaks."""
