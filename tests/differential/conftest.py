"""The checks share scripts and generators with the fast tests of the cache models."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "caches"))
