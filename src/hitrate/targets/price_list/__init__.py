"""The list of prices that the package genai-prices carries, read without importing the package.

That import takes a quarter of a second, for pydantic's models and a client for updates. The list is a module of its
own, of nothing but calls of the package's classes; here it is run beside small classes of the same names (`types`).
They say which model a name means, and when a price holds, as the package does in the releases that are known here. Of
another release the list is not read: the package itself is asked then.
"""

from __future__ import annotations

import datetime
import importlib.util
import re
import zlib
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path

from hitrate.targets.price_list.types import ModelInfo, Provider

_PACKAGE = "genai_prices"

_RULES = {
    "types.py": {0x5DF96D52: "0.2.3"},
    "data_snapshot.py": {0x38547CFB: "0.2.3"},
}
"""The package's files that say which model a name means and which of its prices holds: the CRC-32 of each that `types`
does the same as, with the release that it came with."""

_MOST_KEPT = 256
"""Models, looked up."""

_COMPACT_DATE = r"-(20\d\d)(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)"


class PriceList:
    """A list as it was read."""

    def __init__(self, version: str, providers: list[Provider]) -> None:
        self.version = version
        self._providers = {provider.id: provider for provider in reversed(providers)}
        self.find = lru_cache(maxsize=_MOST_KEPT)(self._find)
        """The model that a name means at a provider of the list, or else at those whose models it sells, too."""

    def __contains__(self, provider: str) -> bool:
        return provider in self._providers

    def _find(self, provider: str, model: str) -> ModelInfo | None:
        own = self._providers[provider]
        sold = (self._providers.get(name) for name in own.fallback_model_providers or ())
        models = [info for listed in (own, *filter(None, sold)) for info in listed.models]
        name = model.lower()
        return _first(models, name) or _first(models, _dashed(name))


def _first(models: list[ModelInfo], name: str) -> ModelInfo | None:
    return next((info for info in models if info.match.is_match(name)), None)


def _dashed(model: str) -> str:
    """With a date like 20260131 at the end of a part of the name as lists write it: 2026-01-31."""

    def dashed(found: re.Match[str]) -> str:
        try:
            return f"-{datetime.date(*map(int, found.groups())).isoformat()}"
        except ValueError:
            return found[0]

    return re.sub(_COMPACT_DATE, dashed, model)


@cache
def price_list() -> PriceList | None:
    """None where the package is not there, or not one whose list can be read so."""
    try:
        package = importlib.util.find_spec(_PACKAGE)
        if package is None or package.origin is None:
            return None
        folder = Path(package.origin).parent
        if any(zlib.crc32((folder / name).read_bytes()) not in known for name, known in _RULES.items()):
            return None
        version = _version(folder)
        return None if version is None else PriceList(version, _read(folder))
    except Exception:  # whatever the list holds that is not known here: the package reads it
        return None


def _version(folder: Path) -> str | None:
    """By the name of the folder of its metadata; to ask `importlib.metadata` takes longer than to read the list."""
    start, end = f"{_PACKAGE}-", ".dist-info"
    found = [file.name for file in folder.parent.glob(f"{start}*{end}")]
    return found[0][len(start) : -len(end)] if len(found) == 1 else None


def _read(folder: Path) -> list[Provider]:
    name = f"{__name__}.data"  # its `from .types import *` takes the classes that stand beside this file
    loader = SourceFileLoader(name, str(folder / "data.py"))
    module = importlib.util.module_from_spec(ModuleSpec(name, loader, origin=loader.path))
    loader.exec_module(module)
    return module.providers
