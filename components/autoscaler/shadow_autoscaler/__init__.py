"""A fresh GPU VM on OpenStack for each CI job, spot first, deleted right after."""
