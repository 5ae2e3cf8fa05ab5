"""The checks share scripts and generators with the fast tests of the cache models and of live runs."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("caches", "live")]
