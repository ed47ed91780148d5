"""A whole autoscaler on loopback: the real server over stand-ins of cloud and forge in real time."""
