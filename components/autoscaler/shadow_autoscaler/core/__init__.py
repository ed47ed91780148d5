"""The pure core: no clock, no network, no randomness."""
