"""Routing policies of real routers over blocks, one file each, with their own names, thresholds and defaults.

The policies of `hitrate.sim.routing` work here too: a request and a replica of `fleet_replay` have what they look at.
"""
