"""A real OpenStack control plane on loopback: Keystone, Glance, Placement, Nova, Neutron, Cinder."""
