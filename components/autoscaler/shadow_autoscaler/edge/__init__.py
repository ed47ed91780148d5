"""The ways in: ASGI server, Lambda handlers, command line."""
