"""The options of a practice server, for every command that starts one.

`practice_options` declares them, `to_arguments` turns their values back into arguments of `hitrate serve`. Values are
keyword arguments whose names start with `practice_`, so that they cannot clash with a command's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from hitrate.core.limits import MOST_REPLICAS

if TYPE_CHECKING:
    from hitrate.serve.practice.options import PracticeOptions

Command = TypeVar("Command", bound=Callable[..., Any])


class _Option(NamedTuple):
    flag: str
    field: str
    """The member of `PracticeOptions`."""
    summary: str
    kind: Any = None
    default: Any = None
    metavar: str | None = None
    flag_only: bool = False
    multiple: bool = False

    @property
    def name(self) -> str:
        return f"practice_{self.field}"


_COUNT = click.IntRange(min=1)
_REPLICAS = click.IntRange(1, MOST_REPLICAS)
_FROM_ZERO = click.FloatRange(min=0)
_ABOVE_ZERO = click.FloatRange(min=0, min_open=True)

_OPTIONS = (
    _Option(
        "--rule",
        "rule",
        "Cache rule: block-chain, longest-prefix, slots, none, or an engine's; a wrong name lists all.",
        str,
        "block-chain",
        "NAME",
    ),
    _Option("--block-size", "block_size", "Tokens in a block; the rule's own when left out.", _COUNT, None, "N"),
    _Option("--minimum-tokens", "minimum_tokens", "Shorter hits count as 0.", click.IntRange(min=0), None, "N"),
    _Option("--slots", "slots", "Slots of a slots rule.", _COUNT, None, "N"),
    _Option("--context-tokens", "context_tokens", "Context shared by all slots.", _COUNT, 16384, "N"),
    _Option("--capacity-tokens", "capacity_tokens", "What one replica's cache holds.", _COUNT, None, "N"),
    _Option("--ttl-s", "ttl_s", "Seconds until an unused entry expires.", _ABOVE_ZERO, None, "S"),
    _Option(
        "--write-delay-ms",
        "write_delay_ms",
        "From first token until others can read the prompt; the rule's own when left out.",
        _FROM_ZERO,
        None,
        "MS",
    ),
    _Option("--replicas", "replicas", "Engines behind the address, each with its own cache.", _REPLICAS, 1, "N"),
    _Option(
        "--routing",
        "routing",
        "How a replica is chosen: random, round-robin, session-affinity, cache-aware, least-load.",
        str,
        "random",
        "POLICY",
    ),
    _Option("--shared", "shared", "One cluster-wide store for all replicas.", flag_only=True, default=False),
    _Option("--prefill-rate", "prefill_rate", "Uncached prompt tokens read per second.", _ABOVE_ZERO, 2500.0, "N"),
    _Option("--decode-rate", "decode_rate", "Reply tokens per second.", _ABOVE_ZERO, 100.0, "N"),
    _Option("--base-ms", "base_ms", "Time to first token of an empty prompt.", _FROM_ZERO, 15.0, "MS"),
    _Option("--jitter", "jitter", "Spread of the time to first token (sigma, log-normal).", _FROM_ZERO, 0.0, "SHARE"),
    _Option("--practice-seed", "seed", "Seed of routing, jitter, faults and replies.", int, 0, "N"),
    _Option(
        "--reply-tokens", "reply_tokens", "Length of replies, at most the request's max_tokens.", _COUNT, None, "N"
    ),
    _Option(
        "--tool-calls",
        "tool_calls",
        "Answer users with a tool call where there are tools.",
        flag_only=True,
        default=False,
    ),
    _Option("--context-limit", "context_limit", "Longer requests get status 400.", _COUNT, None, "N"),
    _Option("--rpm-limit", "rpm_limit", "More requests per minute get status 429.", _COUNT, None, "N"),
    _Option(
        "--fault",
        "faults",
        "Go wrong on purpose: NAME or NAME:every=K or NAME:probability=P; 'list' shows the names. Repeatable.",
        str,
        (),
        "FAULT",
        multiple=True,
    ),
)


def practice_options(command: Command) -> Command:
    """Add all options of a practice server to a click command."""
    for option in reversed(_OPTIONS):
        settings: dict[str, Any] = {"help": option.summary, "default": option.default}
        if option.flag_only:
            settings["is_flag"] = True
        else:
            settings |= {"type": option.kind, "metavar": option.metavar, "multiple": option.multiple}
            settings["show_default"] = option.default not in (None, ())
        command = click.option(option.flag, option.name, **settings)(command)
    return command


def explicit_practice_options(context: click.Context) -> list[str]:
    """Flags of the practice options that were given on the command line."""
    return [option.flag for option in _given(context)]


def given_members(context: click.Context) -> list[str]:
    """The members of `PracticeOptions` that were given on the command line."""
    return [option.field for option in _given(context)]


def _given(context: click.Context) -> list[_Option]:
    source = click.core.ParameterSource.COMMANDLINE
    return [option for option in _OPTIONS if context.get_parameter_source(option.name) is source]


def to_arguments(values: Mapping[str, Any]) -> list[str]:
    """Arguments of `hitrate serve` that say the same; what stands at its default is left out, other names too."""
    arguments = []
    for option in _OPTIONS:
        value = values.get(option.name, option.default)
        if value == option.default:
            continue
        if option.flag_only:
            arguments.append(option.flag)
        else:
            for part in value if option.multiple else (value,):
                arguments += [option.flag, str(part)]
    return arguments


def to_options(values: Mapping[str, Any], **others: Any) -> PracticeOptions:
    """The options object; `others` are members that no shared option sets. Raises UsageError."""
    from hitrate.serve.practice.faults import parse_fault
    from hitrate.serve.practice.options import PracticeOptions

    given = {option.field: values.get(option.name) for option in _OPTIONS}
    members = {field: value for field, value in given.items() if value is not None}
    members["faults"] = tuple(parse_fault(text) for text in members.get("faults", ()))
    return PracticeOptions(**members, **others)
