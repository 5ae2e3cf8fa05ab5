"""The tests here share traces with those of the caches, whose folder pytest only adds when it collects there."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "capacity"))
