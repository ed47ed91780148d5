"""Says what was decided: on the terminal, in merge requests, in files that forges and trackers read."""
