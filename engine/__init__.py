"""Makes the Pulumi engine ready: the CLI, language hosts and resource plugins at pinned versions."""
