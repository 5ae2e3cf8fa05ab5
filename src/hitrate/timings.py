"""Timings of engines in TOML files: those that `hitrate calibrate` wrote, and those of known set-ups by name."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from hitrate import __version__
from hitrate.core.calibration_results import CalibrateResult
from hitrate.errors import InputFileError, UsageError
from hitrate.sim.timing.engine_timing import COSTS, LIMITS, EngineTiming


def timing_names() -> list[str]:
    """Of the set-ups that come with hitrate."""
    return sorted(file.name.removesuffix(".toml") for file in _setups().iterdir() if file.name.endswith(".toml"))


class TimingFile(NamedTuple):
    timing: EngineTiming
    longest_prompt_tokens: int | None
    """Of those that it was fitted to; None where the file does not say."""


def load_timing(path_or_name: str) -> EngineTiming:
    """A file, or a set-up by its name. InputFileError for a file that is no timing, UsageError where there is none."""
    return read_timing(path_or_name).timing


def read_timing(path_or_name: str) -> TimingFile:
    """The same with what the file says of where it is from."""
    members = _members(path_or_name)
    source = members.get("source")
    tokens = source.get("longest_prompt_tokens") if isinstance(source, dict) else None
    return TimingFile(_timing(path_or_name, members["timing"]), tokens if isinstance(tokens, int) else None)


def _members(path_or_name: str) -> dict[str, Any]:
    """Of the file; `timing` is a table."""
    if Path(path_or_name).is_file():
        file: Any = Path(path_or_name)
    elif path_or_name in timing_names():
        file = _setups() / f"{path_or_name}.toml"
    else:
        near = get_close_matches(path_or_name, timing_names(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UsageError(
            f"no file and no set-up is called {path_or_name!r}; set-ups: {', '.join(timing_names())}{hint}"
        )
    try:
        members = tomllib.loads(file.read_bytes().decode())
    except OSError as error:
        raise InputFileError(path_or_name, f"cannot be read ({error.strerror})") from None
    except ValueError as error:  # neither UTF-8 nor TOML
        raise InputFileError(path_or_name, f"not TOML: {error}") from None
    if not isinstance(members.get("timing"), dict):
        raise InputFileError(path_or_name, "has no table [timing]; write one with: hitrate calibrate MEASURED -o FILE")
    return members


def _setups() -> Any:
    return resources.files("hitrate.sim.timing") / "setups"


def _timing(file: str, table: dict[str, Any]) -> EngineTiming:
    known = [*COSTS, *LIMITS]
    for name in table:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            raise InputFileError(file, f"[timing] has no {name}; {hint}")
    try:
        return msgspec.convert(table, EngineTiming)
    except (msgspec.ValidationError, ValueError) as error:
        raise InputFileError(file, f"[timing]: {error}") from None


def timing_toml(result: CalibrateResult) -> str:
    """A file that `load_timing` reads, with where it comes from and how good it is."""
    return "\n".join(_toml(result)) + "\n"


def _toml(result: CalibrateResult) -> Iterator[str]:
    yield f"# Costs and limits of an engine, fitted by hitrate calibrate {__version__}."
    yield "# For: hitrate simulate TRACE --timing FILE"
    yield ""
    yield "[timing]"
    for cost in result.costs:
        interval = "" if cost.low is None or cost.high is None else f", {cost.low:.3g} to {cost.high:.3g}"
        doubt = "" if cost.determined else "; not determined"
        yield f"{cost.name} = {cost.seconds:.6g}  # s, {cost.text}{interval}{doubt}"
    for name in LIMITS:
        value = getattr(result, name)
        if value is not None:
            yield f"{name} = {str(value).lower()}"
    yield ""
    yield "[source]"
    yield f"measured = {_text(Path(result.measured).name)}"
    yield f"format = {_text(result.format)}"
    yield f"requests = {result.requests}"
    yield f"fitted = {result.fitted_requests}"
    yield f"held_out = {result.held_out_requests}"
    yield f"queued_in_fit = {result.queued_requests}"
    yield f"longest_prompt_tokens = {result.longest_prompt_tokens}"
    for part in dict.fromkeys(error.part for error in result.errors):
        yield ""
        yield f'[errors."{part}"]  # predicted by measured, less one'
        for error in result.errors:
            if error.part == part:
                name = f"{error.figure} {error.statistic}".replace(" ", "_")
                yield f"{name} = {error.error:.4f}"


def _text(value: str) -> str:
    """JSON's strings are TOML's too, but for what stands for halves of characters."""
    return msgspec.json.encode(value.encode("utf-8", "replace").decode()).decode()
