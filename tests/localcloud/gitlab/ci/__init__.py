"""Reading `.gitlab-ci.yml`: from text to the jobs of one pipeline."""
