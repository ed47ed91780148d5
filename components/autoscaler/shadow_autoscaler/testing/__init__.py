"""Stand-ins for every port, in memory, with virtual time and a plan of faults that a seed decides."""
