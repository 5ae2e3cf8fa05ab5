"""Every error hitrate raises on purpose, and the exit code it ends a command with.

    HitrateError                    1
     ├── CheckFailed                1   a stated expectation did not hold
     ├── UsageError                 2   the command line or an input file cannot be used
     │    └── InputFileError        2   names file, line, column and what was expected
     └── TargetError                3   the target cannot be reached or refuses
          ├── Unreachable           3   connection refused, name not found, timed out
          ├── KeyMissing            3   the target needs a key; nothing was sent
          ├── KeyRefused            3   the target does not take the key
          ├── ModelNotFound         3   the id sent, and the nearest ids
          ├── RateLimited           3   waited and tried again, still 429
          └── ContextTooSmall       3   the prompt does not fit, with the setting that fixes it

The text is one line: what failed, on what, what to do. A `hint` goes on a line of its own.
"""

from __future__ import annotations

from typing import Any


class HitrateError(Exception):
    """Base of all. `message` is one line, `hint` an optional second one."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process and back as it is, whatever a class is made from."""
        return _as_it_was, (type(self), self.message, self.hint)


class CheckFailed(HitrateError):
    exit_code = 1


class UsageError(HitrateError):
    exit_code = 2


class InputFileError(UsageError):
    """`file`, and where known `line` and `column` (both from 1), and what was expected there."""

    def __init__(self, file: str, expected: str, *, line: int | None = None, column: int | None = None) -> None:
        place = file if line is None else f"{file}, line {line}" + ("" if column is None else f", column {column}")
        super().__init__(f"{place}: {expected}")


class TargetError(HitrateError):
    exit_code = 3


class Unreachable(TargetError):
    pass


class KeyMissing(TargetError):
    pass


class KeyRefused(TargetError):
    pass


class ModelNotFound(TargetError):
    pass


class RateLimited(TargetError):
    pass


class ContextTooSmall(TargetError):
    pass


def _as_it_was(kind: type[HitrateError], message: str, hint: str | None) -> HitrateError:
    error = kind.__new__(kind)
    HitrateError.__init__(error, message, hint=hint)
    return error
