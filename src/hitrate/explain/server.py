"""What a log says of the engine that served it: its arguments, its limits, and lines of its own log."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from hitrate.core.lazy_pattern import lazy_pattern
from hitrate.explain.evidence import Facts

_ENGINE_RULES = ("llama.cpp", "slots", "sglang", "vllm")
"""How the names of rule sets of engines begin that people run themselves."""

_SLOT_ENGINES = lazy_pattern(r"llama|ollama|lm.?studio|koboldcpp|jan\b", re.IGNORECASE)

_SLOTS = ("--parallel", "-np", "--n-parallel", "OLLAMA_NUM_PARALLEL")
_HOST_CACHE = ("--cache-ram", "-cram", "LLAMA_ARG_CACHE_RAM")
_CONTEXT = ("--ctx-size", "-c", "--max-total-tokens", "--num-gpu-blocks-override")

_POOL_SIZE = lazy_pattern(r"(?:KV cache size|max_total_num_tokens)\s*[:=]\s*([\d,]+)", re.IGNORECASE)
"""vLLM: "GPU KV cache size: 43,520 tokens"; SGLang: "max_total_num_tokens=43520"."""


def own_engine(facts: Facts) -> bool:
    """Whether an engine of the user's own served the calls, rather than a hosted API."""
    return bool(facts.server) or (facts.rule is not None and facts.rule.name.startswith(_ENGINE_RULES))


def has_slots(facts: Facts) -> bool:
    """Whether the engine keeps one sequence a slot (llama.cpp and what is built on it)."""
    if facts.rule is not None and facts.rule.model in ("slots", "checkpoints"):
        return True
    return bool(_SLOT_ENGINES.search(f"{facts.server.get('engine', '')} {facts.server.get('name', '')}"))


def arguments(server: Mapping[str, Any]) -> list[str]:
    """The command line, in words; however the log writes it down. Names and values of a mapping count as arguments."""
    given = next((server[name] for name in ("args", "arguments", "flags", "command", "cmd") if server.get(name)), "")
    if isinstance(given, Mapping):
        return [str(part) for pair in given.items() for part in pair]
    if isinstance(given, (list, tuple)):
        given = " ".join(str(part) for part in given)
    try:
        words = shlex.split(str(given))
    except ValueError:
        words = str(given).split()
    return [part for word in words for part in (word.split("=", 1) if word.startswith(("-", "O")) else [word])]


def argument(server: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The value behind the last of these names; "" for a name without a value, None where none is there."""
    words = arguments(server)
    spelled = {*names, *(name.lstrip("-") for name in names)}
    places = [index for index, word in enumerate(words) if word in spelled]
    if not places:
        return None
    behind = words[places[-1] + 1 : places[-1] + 2]
    return behind[0] if behind and not re.match(r"-\D", behind[0]) else ""


def slots(facts: Facts) -> int | None:
    """How many sequences the engine holds at once; None where the log does not say. Ollama's default is one."""
    named = (_count(facts.server.get(name)) for name in ("slots", "n_slots", "parallel", "n_parallel", "num_parallel"))
    stated = next(filter(None, named), None) or _count(argument(facts.server, _SLOTS))
    return 1 if stated is None and "ollama" in str(facts.server.get("engine", "")).lower() else stated


def without_host_cache(facts: Facts) -> bool | None:
    """Whether llama.cpp's store of displaced prompts is off; None where the log does not say."""
    stated = facts.server.get("cache_ram")
    value = argument(facts.server, _HOST_CACHE) if stated is None else str(stated)
    return None if value is None else value == "0"


def pool_tokens(facts: Facts) -> int | None:
    """Tokens that the engine's cache holds in all, as the log or the engine's own log states them."""
    for name in ("capacity_tokens", "kv_cache_tokens", "max_total_num_tokens"):
        if found := _count(facts.server.get(name)) or _count(facts.rules.get(name)):
            return found
    blocks, size = _count(facts.rules.get("capacity_blocks")), facts.granularity
    if blocks:
        return blocks * size
    for line in log_lines(facts.server):
        if found_size := _POOL_SIZE.search(line):
            return int(found_size[1].replace(",", ""))
    return _count(argument(facts.server, _CONTEXT[:3])) if has_slots(facts) else None


def log_lines(server: Mapping[str, Any]) -> list[str]:
    """Lines of the engine's own log, whatever member holds them."""
    lines: list[str] = []
    for name in ("log", "logs", "log_lines", "lines", "stderr", "messages", "notes"):
        value = server.get(name)
        if isinstance(value, str):
            lines += value.splitlines()
        elif isinstance(value, (list, tuple)):
            lines += [
                str(line.get("line", line.get("message", line))) if isinstance(line, dict) else str(line)
                for line in value
            ]
    return lines


def first_line(server: Mapping[str, Any], pattern: re.Pattern[str]) -> str | None:
    """The first line of the engine's log that the pattern finds something in, cut to what fits a sentence."""
    found = next((line for line in log_lines(server) if pattern.search(line)), None)
    return None if found is None else found.strip()[:160]


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = int(str(value).replace(",", ""))
    except ValueError:
        return None
    return number if number > 0 else None
