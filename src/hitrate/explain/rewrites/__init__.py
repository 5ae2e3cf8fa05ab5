"""Fixes made to request bodies, one file each: what `whatif` replays."""
