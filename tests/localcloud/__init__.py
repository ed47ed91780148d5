"""A real OpenStack control plane, forge simulators and a guest agent on loopback, for tests."""
