"""A GitLab server for tests: its REST, runner, Git and webhook protocols over real HTTP on loopback."""
