"""One updating comment per stack in a pull or merge request: changes, monthly cost, policies, quota."""
