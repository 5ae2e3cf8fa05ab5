"""What hitrate has must stand in the documentation, and what stands there must be so."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import click
import pytest

import hitrate.explain.turns.unpublished
import hitrate.explain.turns.verdict
from hitrate import errors
from hitrate.caches.rules import RULE_SETS
from hitrate.cli import group
from hitrate.core.comparison import REASONS
from hitrate.core.results import STATES
from hitrate.logs.sniff import READERS
from hitrate.logs.traces.sniff import TRACE_READERS
from hitrate.serve.practice.app import PracticeApp
from hitrate.serve.practice.faults import KINDS
from hitrate.sim.capacity.definitions import DEFINITIONS
from hitrate.sim.capacity.rules import BLOCK_RULES
from hitrate.sim.routing.registry import policy_names
from hitrate.targets.dialects import names as dialect_names
from hitrate.targets.presets import all_names

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
PAGES += sorted((ROOT / "benchmarks").rglob("*.md"))


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def missing(names: Iterator[str] | list[str] | tuple[str, ...], text: str, form: str = "`{}`") -> list[str]:
    return [name for name in names if form.format(name) not in text]


# Generated parts


def generator() -> ModuleType:
    specification = importlib.util.spec_from_file_location("write_docs", ROOT / "tools" / "write_docs.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_generated_parts_are_up_to_date() -> None:
    assert generator().main(["--check"]) == 0, "run: python tools/write_docs.py"


def test_a_page_that_is_out_of_date_would_be_noticed() -> None:
    text = page("guides/practice-server.md").replace("| `cut` |", "| `cutt` |")
    assert "| `cutt` |" in text
    assert generator().filled(text) == page("guides/practice-server.md")


# Everything there is


def all_commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command, info_name=path)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from all_commands(inner, f"{path} {name}")


COMMANDS = dict(all_commands(group.hitrate, "hitrate"))


@pytest.mark.parametrize("path", COMMANDS)
def test_command_and_its_options_are_documented(path: str) -> None:
    text = page("reference/commands.md")
    assert f"### {path}\n" in text
    options = [one for one in COMMANDS[path].params if isinstance(one, click.Option) and not one.hidden]
    assert missing([name for option in options for name in option.opts], text) == []
    assert [option.opts[0] for option in options if not option.help and option.opts[0] != "--temperature"] == []


def test_readme_names_every_command() -> None:
    assert missing(list(COMMANDS), README.read_text(encoding="utf-8"), "`{}") == []


def test_targets_rules_formats_and_policies_are_documented(tmp_path: Path) -> None:
    targets = page("reference/targets.md")
    assert missing(all_names(tmp_path / "none.toml"), targets, "\n## {}\n") == []
    assert missing(dialect_names(), targets) == []
    assert missing(list(RULE_SETS), page("reference/cache-rules.md")) == []
    models = sorted({rule.model.capitalize() for rule in RULE_SETS.values()})
    assert missing(models, page("reference/cache-rules.md"), "\n**{}** ") == []
    assert missing(policy_names(), page("guides/practice-server.md")) == []
    assert missing(policy_names(), page("guides/sessions-and-routing.md")) == []
    assert missing(list(KINDS), page("guides/practice-server.md")) == []
    assert missing([reader.name for reader in READERS], page("guides/costs.md")) == []
    assert missing([reader.name for reader in TRACE_READERS], page("guides/planning.md")) == []
    assert missing([*BLOCK_RULES], page("guides/planning.md")) == []
    assert missing([*DEFINITIONS], page("guides/planning.md")) == []


def test_addresses_of_the_practice_server_are_documented() -> None:
    source = (ROOT / "src/hitrate/serve/practice/app.py").read_text(encoding="utf-8")
    routes = re.findall(r'Route\("([^"]+)"', source)
    assert PracticeApp.__doc__ is not None and len(routes) >= 5
    plain = [route.replace("{name:path}", "NAME") for route in routes]
    assert missing(plain, page("guides/practice-server.md"), " {}`") == []


def verdict_causes() -> set[str]:
    """Every literal that the modules of verdicts give for a cause."""
    modules = (hitrate.explain.turns.verdict, hitrate.explain.turns.unpublished)
    trees = [ast.parse(Path(module.__file__).read_text(encoding="utf-8")) for module in modules]
    values: list[ast.expr] = []
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.keyword) and node.arg == "cause":
            values.append(node.value)
        elif isinstance(node, ast.Assign):
            (target, value) = (node.targets[0], node.value)
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=True))
            values += [value for name, value in pairs if isinstance(name, ast.Name) and name.id == "cause"]
    strings = (leaf.value for value in values for leaf in ast.walk(value) if isinstance(leaf, ast.Constant))
    return {value for value in strings if isinstance(value, str)}


def test_states_causes_and_reasons_are_explained() -> None:
    text = page("guides/reading-results.md")
    assert missing(STATES, text, "| `{}` |") == []
    causes = verdict_causes()
    assert {"replica", "race", "not reported"} <= causes
    assert missing(sorted(causes), text, "| `{}` |") == []
    assert missing(REASONS, text) == []


def test_no_state_cause_or_reason_is_explained_that_does_not_exist() -> None:
    text = page("guides/reading-results.md")
    explained = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    explained |= set(re.findall(r"^\| (?:`[^`]+`, )`([^`]+)` \|", text, re.MULTILINE))
    assert explained - {*STATES, *verdict_causes(), *REASONS} == set()


def test_errors_and_exit_codes_are_documented() -> None:
    text = page("reference/errors-and-exit-codes.md")
    classes: list[type[errors.HitrateError]] = [errors.HitrateError]
    for one in classes:
        classes += [other for other in one.__subclasses__() if other.__module__ == errors.__name__]
    assert errors.ContextTooSmall in classes
    assert missing([one.__name__ for one in classes], text, "{} ") == []
    assert missing(sorted({str(one.exit_code) for one in classes}), text, "\n| {} |") == []


def test_keys_of_the_json_output_are_documented() -> None:
    text = page("reference/json.md")
    for file in (resources.files("hitrate.report") / "schema").iterdir():
        schema = json.loads(file.read_text(encoding="utf-8"))
        top = schema["$defs"][schema["$ref"].rpartition("/")[2]]
        assert missing(list(top["properties"]), text, "| `{}` |") == [], file.name


# Commands in the README

MARKED = re.compile(r"^(?:<!-- (?P<mark>.+?) -->\n)?```(?:sh|console)\n(?P<body>.*?)^```", re.MULTILINE | re.DOTALL)
REASONS_NOT_TO_RUN = ("make", "installs", "needs a server", "needs a key", "needs a trace")


class Block(NamedTuple):
    mark: str
    commands: list[str]


def blocks(text: str) -> list[Block]:
    found = []
    for match in MARKED.finditer(text):
        lines = match["body"].splitlines()
        typed = [line[2:] for line in lines if line.startswith("$ ")] or [line for line in lines if line]
        found.append(Block(match["mark"] or "", [line.split("  #")[0].strip() for line in typed]))
    return found


README_BLOCKS = blocks(README.read_text(encoding="utf-8"))


def test_every_command_block_of_the_readme_says_how_it_is_checked() -> None:
    assert len(README_BLOCKS) >= 5
    marks = [block.mark for block in README_BLOCKS]
    allowed = [f"not run: {reason}" for reason in REASONS_NOT_TO_RUN]
    assert [mark for mark in marks if mark not in allowed and not mark.startswith("run: hitrate ")] == []


def small_runs() -> Iterator[tuple[str, str]]:
    """(as shown, as run here) of the commands that need no key, server or network."""
    for block in README_BLOCKS:
        if block.mark.startswith("run: "):
            (shown,) = block.commands
            yield shown, block.mark.removeprefix("run: ")


SAID = {
    "bench": "expected by block-chain (block 16), exact tokens",
    "test": "expected by block-chain (block 16), exact tokens",
    "explain": "clock-in-prefix · you can change this · certain",
    "whatif": "the rule predicts the measured rate for the log as sent",
}


@pytest.mark.parametrize(("shown", "small"), list(small_runs()))
def test_command_of_the_readme_runs(shown: str, small: str, tmp_path: Path) -> None:
    assert shown.split()[:3] == small.split()[:3]
    command = [sys.executable, "-m", *shlex.split(small)]
    variables = os.environ | {"HITRATE_STORE": str(tmp_path / "runs.sqlite3")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=variables, check=False)
    assert done.returncode == 0, done.stderr
    assert SAID[shown.split()[1]] in done.stdout


def test_commands_that_are_not_run_parse() -> None:
    """Their names and options exist, whatever the values."""
    typed = [shlex.split(line) for block in README_BLOCKS for line in block.commands]
    ours = [words for words in typed if words[0] == "hitrate"]
    assert len(ours) >= 5
    for words in ours:
        command = COMMANDS[" ".join(words[:2])]
        known = {name for one in command.params for name in one.opts}
        assert [word for word in words[2:] if word.startswith("--") and word not in known] == []


def test_make_targets_of_the_documentation_exist() -> None:
    made = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r"(?:^|`)make ([a-z][a-z-]*)(?=`|\s|$)", text, re.MULTILINE))
        assert named - made == set(), path.name
    assert {"demo", "test"} <= made


# Links


def anchors(text: str) -> set[str]:
    """As GitHub makes them from headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=[str(path.relative_to(ROOT)) for path in PAGES])
def test_links_inside_the_repository_resolve(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), link


def test_every_page_can_be_reached_from_the_index() -> None:
    """A folder with an index of its own lists its pages there, and is itself in the first one."""
    indexes = [DOCS / "index.md", *sorted(DOCS.glob("*/index.md"))]
    for path in set(DOCS.rglob("*.md")) - {DOCS / "index.md"}:
        own = path.parent / "index.md"
        index = own if own in indexes and own != path else DOCS / "index.md"
        link = str(path.relative_to(index.parent))
        assert f"]({link})" in index.read_text(encoding="utf-8"), path
