"""Files that `shadow-perfgate init` writes."""
