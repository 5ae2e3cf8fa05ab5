"""The checks share scripts and generators with the fast tests of cache models, live runs and routing policies."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("caches", "live", "sim/policies")]
