"""A target made ready from the command line: preset or address, key, and a practice server of its own where asked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from hitrate.cli.practice_options import explicit_practice_options, to_arguments, to_options
from hitrate.errors import UsageError
from hitrate.targets.presets import Target, check_base_url, key_for, load

if TYPE_CHECKING:
    from hitrate.serve.practice.options import PracticeOptions


class Started(Struct, frozen=True, kw_only=True):
    """`practice` are the options of the practice server, when the target is one."""

    target: Target
    key: str | None
    practice: PracticeOptions | None = None


def named_target(name: str, *, base_url: str | None, key_variable: str | None) -> Target:
    """The target called `name`, with what the command line says in place of the preset's. Raises UsageError."""
    target = load(name)
    if key_variable is not None:
        target = msgspec.structs.replace(target, key_variable=key_variable, key_required=True)
    if base_url is not None:
        target = msgspec.structs.replace(target, base_url=check_base_url(base_url, target.dialect))
    return target


@contextmanager
def started(
    name: str, *, base_url: str | None, key_variable: str | None, practice: Mapping[str, Any]
) -> Iterator[Started]:
    """The target called `name`. "practice" without an address starts a practice server with the options `practice`.

    Raises UsageError, also for practice options with another target, and KeyMissing.
    """
    target = named_target(name, base_url=base_url, key_variable=key_variable)
    own = target.name == "practice" and base_url is None
    given = explicit_practice_options(click.get_current_context())
    if "list" in practice.get("practice_faults", ()):
        raise UsageError("the faults are listed by: hitrate serve --fault list")
    if given and not own:
        raise UsageError(f"{given[0]} is an option of the practice server and goes with the target practice alone")
    if not own:
        key = key_for(target, os.environ)
        running = practice_options_at(target) if target.name == "practice" else None
        yield Started(target=target, key=key, practice=running)
        return
    from hitrate.serve.child import PracticeServer

    options = to_options(practice)
    with PracticeServer(to_arguments(practice)) as server:
        target = msgspec.structs.replace(target, base_url=server.base_url)
        yield Started(target=target, key=None, practice=options)


def practice_options_at(target: Target) -> PracticeOptions:
    """What a running practice server was started with. Raises Unreachable and TargetError."""
    import urllib.error
    import urllib.request

    from hitrate.errors import TargetError
    from hitrate.live.session import unreachable
    from hitrate.serve.practice.options import PracticeOptions

    address = f"{str(target.base_url).removesuffix('/v1')}/state"
    try:
        with urllib.request.urlopen(address, timeout=10) as reply:
            state = msgspec.json.decode(reply.read())
        return msgspec.convert(state["options"], PracticeOptions)
    except urllib.error.HTTPError as error:
        raise TargetError(f"practice: {address} answers {error.code}; is it a practice server?") from None
    except OSError as error:
        reason = getattr(error, "reason", error)
        said = "connection refused" if isinstance(reason, ConnectionRefusedError) else str(reason)
        raise unreachable(target, f"{address}: {said}") from None
    except (msgspec.DecodeError, KeyError, TypeError):
        raise TargetError(f"practice: {address} does not say its options; is it a practice server?") from None
