"""The whole way of a merge request: stored baseline first, then interleaved pairs, until it is decided."""
