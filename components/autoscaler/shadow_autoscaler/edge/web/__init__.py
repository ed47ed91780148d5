"""The HTTP server: webhooks, the VM protocol, health, metrics and the status page."""
