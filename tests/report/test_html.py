"""The page: complete in itself, escaped, and readable without its plots."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser

import msgspec
import pytest

from hitrate import errors
from hitrate.core import results
from hitrate.core.listings import ModelList
from hitrate.report.html import Section, headline, render

VOID = {"meta", "line", "circle", "rect", "path", "br"}


class Page(HTMLParser):
    """Collects what is on a page and holds that every element is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.words.append(data.strip())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(word for word in self.words if word)


def page(*values, **options) -> str:
    out = io.StringIO()
    render(values, out, **options)
    return out.getvalue()


@pytest.fixture
def demo(bench_result, test_result, many_sessions) -> str:
    return page(
        bench_result,
        test_result,
        many_sessions,
        title="What a kept prefix is worth",
        intro="A practice server.",
        sections=(
            Section(title="First, the bench", text=("Two orders.",), result=0),
            Section(title="What it means", text=("Keep the opening equal.",)),
            Section(title="The same for your own server", commands=("hitrate bench vllm", "hitrate test vllm")),
        ),
    )


def test_several_results_and_sections_in_order(demo):
    parsed = Page(demo)
    headings = re.findall(r"<h2>(.*?)</h2>", demo)
    assert headings == [
        "First, the bench",
        "Hit rate over 5 turns",
        "Hit rate over 2 turns, 300 sessions at once",
        "What it means",
        "The same for your own server",
    ]
    assert "20.6× sooner to the first token when the prefix is kept" in parsed.text
    assert "Two orders." in parsed.text
    assert "hitrate bench vllm\nhitrate test vllm" in demo


def test_nothing_is_fetched(demo, hostile):
    for document in (demo, page(hostile)):
        assert not re.search(r"(?:https?:)?//", document)
        assert "url(" not in document
        assert "@import" not in document
        tags = {tag for tag, _ in Page(document).elements}
        assert not tags & {"script", "link", "img", "iframe", "object", "embed", "base", "form"}
        assert {name for _, attributes in Page(document).elements for name in attributes} & {
            "src",
            "srcset",
            "on",
        } == set()
        assert "default-src 'none'" in document


def test_hostile_text_is_shown_and_does_nothing(hostile):
    document = page(
        hostile, title="<b>\x1b title", intro="<i>", sections=(Section(title="<u>", commands=("<s>\u202e",)),)
    )
    parsed = Page(document)
    assert not {"script", "b", "i", "u", "s", "bold"} & {tag for tag, _ in parsed.elements}
    assert r"<b>\x1b title" in parsed.text
    assert r"<s>\u202e" in parsed.text
    assert r"m\x1b[31m\u202e[bold]|<script>alert(1)</script>" in parsed.text
    assert not set("\x1b\u202e\u2028") & set(document)


def test_it_is_made_for_dark_phone_and_keyboard(demo):
    parsed = Page(demo)
    assert "prefers-color-scheme: dark" in demo
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in parsed.all("meta")
    assert parsed.all("html") == [{"lang": "en"}]
    assert parsed.all("a") == [{"class": "skip", "href": "#results"}]
    assert all(region["tabindex"] == "0" and region["aria-label"] for region in parsed.all("div"))
    assert len(parsed.all("h1")) == 1


def test_every_plot_has_words_and_numbers(demo):
    parsed = Page(demo)
    plots = parsed.all("svg")
    assert [plot["class"] for plot in plots] == ["wide", "narrow"] * 5
    identities = [attributes["id"] for _, attributes in parsed.elements if "id" in attributes]
    assert len(identities) == len(set(identities))
    for plot in plots:
        assert set(plot["aria-labelledby"].split()) <= set(identities)
    assert "stable-first: call 1 740.0 ms, median of the rest 36.0 ms" in parsed.text
    assert "turn 4: 3,160 tokens, cached not reported" in parsed.text
    assert len(parsed.all("table")) == 3
    assert all(header["scope"] == "col" for header in parsed.all("th"))


def test_unknown_is_never_zero(demo):
    assert '<td class="number">not reported</td><td class="number">–</td><td class="number">37.2</td>' in demo


@pytest.mark.parametrize(
    ("change", "figure", "words"),
    [
        ({"speedup_x": 20.556}, "20.6×", "sooner to the first token when the prefix is kept"),
        ({"speedup_x": 1.0}, "1.0×", "to the first token: keeping the prefix first gained nothing here"),
    ],
)
def test_headline_of_a_bench(bench_result, change, figure, words):
    row = msgspec.structs.replace(bench_result.rows[0], **change)
    found = headline([msgspec.structs.replace(bench_result, rows=(row,))])
    assert (found.figure, found.words) == (figure, words)
    assert found.detail == "740.0 ms for the first call, 36.0 ms after it (median of 2 calls)"


def test_headline_of_a_test_and_of_nothing(test_result):
    assert headline([test_result]).figure == "49.2 %"
    silent = msgspec.structs.replace(
        test_result, aggregate=results.Aggregate(prompt_tokens=None, cached_tokens=None, hit_rate=None, not_reported=5)
    )
    assert headline([silent]) is None
    assert 'class="headline"' not in page(silent)


def test_a_comparison_shows_its_numbers_at_once(comparison):
    document = page(comparison)
    assert "<details open>" in document
    assert "missed reuse" in Page(document).text


def test_empty_results_have_a_page_too(test_result):
    assert Page(page(results.BenchResult(target="practice"))).all("svg") == []
    empty = results.TestResult(aggregate=test_result.aggregate, verdict=test_result.verdict)
    assert Page(page(empty)).all("svg") == []


def test_a_page_without_a_title_names_what_it_holds(bench_result, test_result, comparison):
    assert "<h1>Bench and test of practice</h1>" in page(bench_result, test_result)
    assert "<h1>Comparison of practice and hosted</h1>" in page(comparison)


def test_a_list_has_no_page():
    with pytest.raises(errors.UsageError, match="this list has no HTML page: use --json, --csv or --markdown"):
        page(ModelList(target="practice", models=()))
