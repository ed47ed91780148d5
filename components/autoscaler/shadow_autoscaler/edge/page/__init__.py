"""What people see: the same facts for the page, its JSON and the command line."""
