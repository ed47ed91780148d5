"""Before `pulumi destroy`: removes what the autoscaler has made and the stack does not know."""
