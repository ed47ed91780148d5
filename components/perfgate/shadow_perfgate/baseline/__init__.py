"""Remembers: immutable, append-only sessions of main, and which of them a candidate is compared with."""
