"""The rules of `hitrate.sim.capacity` compiled, for traces of many millions of blocks. They need the extra `fast`.

They answer what the plain ones answer, to the block; `hitrate.sim.capacity.kernel` chooses between them. Nothing else
imports this folder, because numba takes half a second to import.
"""
