"""Thin adapters of the ports over githubkit, python-gitlab, openstacksdk, sqlite3 and boto3."""
