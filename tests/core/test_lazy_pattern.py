from __future__ import annotations

import gc
import importlib
import pkgutil
import re

import pytest

import hitrate.explain
import hitrate.logs
import hitrate.report
import hitrate.targets
from hitrate.core.lazy_pattern import LazyPattern, lazy_pattern

WORDS = r"(?P<word>[a-z]+)"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", ("  Ab cd",)),
        ("match", ("  Ab cd",)),
        ("match", ("  Ab cd", 2)),
        ("fullmatch", ("Ab",)),
        ("findall", ("Ab cd",)),
        ("split", ("1ab2",)),
        ("sub", (r"<\g<word>>", "Ab cd")),
        ("subn", ("x", "Ab cd", 1)),
    ],
)
@pytest.mark.parametrize("flags", [0, re.IGNORECASE])
def test_it_does_what_the_compiled_one_does(name, arguments, flags):
    late = lazy_pattern(WORDS, flags)
    for _ in range(2):
        assert str(getattr(late, name)(*arguments)) == str(getattr(re.compile(WORDS, flags), name)(*arguments))


def test_it_tells_what_the_compiled_one_tells():
    late, compiled = lazy_pattern(WORDS, re.IGNORECASE), re.compile(WORDS, re.IGNORECASE)
    for name in ("pattern", "flags", "groups", "groupindex"):
        assert getattr(late, name) == getattr(compiled, name)
    assert [found.span() for found in late.finditer("Ab cd")] == [(0, 2), (3, 5)]


def test_the_class_can_be_asked_for_its_members():
    assert LazyPattern.search is vars(LazyPattern)["search"]


def test_nothing_is_compiled_before_its_first_use():
    late = lazy_pattern("(")
    assert late.pattern == "("
    with pytest.raises(re.error):
        late.match("")


def test_every_one_that_waits_can_be_compiled():
    for package in (hitrate.explain, hitrate.logs, hitrate.report, hitrate.targets):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    waiting = [found for found in gc.get_objects() if type(found) is LazyPattern and found.pattern != "("]
    assert len(waiting) > 100
    assert all(isinstance(late.compiled, re.Pattern) for late in waiting)
