"""Caches over the blocks of a trace: how much of it a cache of so many blocks serves, by each eviction rule.

Far quicker than the token-exact models of `hitrate.caches`, which hold whatever a live engine may do; here requests
come one after another. One file a rule, and `curve` for all capacities at once.
"""
