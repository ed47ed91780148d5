"""Webhooks verified without any input or output: bytes and headers in, a verdict out."""
