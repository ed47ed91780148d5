"""The protocol between GitLab and GitLab Runner: contact, jobs, traces, artifacts."""
