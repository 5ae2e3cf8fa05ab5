"""Calls over replicas, routing and virtual time. Pure."""
