"""The REST API, version 4, one module for each kind of resource."""
