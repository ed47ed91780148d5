"""Runs the core: takes events in, carries intents out, keeps both durable."""
