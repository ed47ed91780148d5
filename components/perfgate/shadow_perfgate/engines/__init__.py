"""What can be measured: a callable, transformers, an OpenAI-compatible server, any command."""
