"""Plots are well-formed, say in words what they show, and keep every label inside."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from hitrate.report import series, svg

SVG = "{http://www.w3.org/2000/svg}"


def parsed(drawing: svg.Drawing) -> ElementTree.Element:
    text = drawing.svg("a title", "what it shows", "plot", "wide")
    return ElementTree.fromstring(str(text).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1))


def texts(element: ElementTree.Element) -> list[str]:
    return [text.text for text in element.iter(SVG + "text")]


def classes(element: ElementTree.Element, tag: str) -> list[str]:
    return [found.get("class") for found in element.iter(SVG + tag)]


@pytest.mark.parametrize("width", [svg.NARROW, svg.WIDE])
def test_ttft_plot(bench_result, width):
    plot = parsed(svg.ttft_plot([series.ttft_per_call(row) for row in bench_result.rows], width))
    assert {"Stable first", "Variable first", "740 ms", "744 ms", "median 36.0 ms", "ms", "call"} <= set(texts(plot))
    assert classes(plot, "circle").count("kept") == 2
    assert sum(name == "computed" for name in classes(plot, "path")) == 5


@pytest.mark.parametrize("width", [svg.NARROW, svg.WIDE])
def test_hit_rate_plot(many_sessions, width):
    plot = parsed(svg.hit_rate_plot(series.hit_rate_per_turn(many_sessions), width))
    assert {"parallel, 300 sessions", "%", "100", "turn"} <= set(texts(plot))
    assert classes(plot, "path") == ["band-0", "curve-0"]


@pytest.mark.parametrize("width", [svg.NARROW, svg.WIDE])
def test_token_plot(test_result, width):
    plot = parsed(svg.token_plot(series.tokens_per_turn(test_result), width))
    assert {"not reported", "expected by the rule", "tokens", "turn"} <= set(texts(plot))
    assert classes(plot, "rect")[:7] == ["computed", "kept", "computed", "kept", "computed", "kept", "unknown"]


@pytest.mark.parametrize("width", [svg.NARROW, svg.WIDE])
@pytest.mark.parametrize("turns", [1, 2, 5, 100])
def test_everything_stays_inside_the_drawing(test_result, width, turns):
    rates = series.TurnSeries(
        name="parallel", sessions=3, points=tuple(series.TurnPoint(turn, 0.0, 0.0, 1.0) for turn in range(1, turns + 1))
    )
    bars = tuple(series.TokenBar(turn, 123_456, 123_000, 123_400) for turn in range(1, turns + 1))
    for drawing in (
        svg.hit_rate_plot([rates, rates], width),
        svg.token_plot(series.TokenSeries(name="x", bars=bars), width),
    ):
        for text in parsed(drawing).iter(SVG + "text"):
            length = 6.4 * len(text.text)
            x, y, anchor = float(text.get("x")), float(text.get("y")), text.get("text-anchor")
            start = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[anchor] * length
            assert start >= -1, text.text
            assert start + length <= width + 1, text.text
            assert 10 <= y <= drawing.height, text.text


def test_the_text_alternative_is_bound_to_the_plot():
    plot = parsed(svg.Drawing(10, 10))
    assert (plot.get("role"), plot.get("aria-labelledby")) == ("img", "plot-t plot-d")
    assert (plot.find(SVG + "title").text, plot.find(SVG + "desc").text) == ("a title", "what it shows")


def test_names_cannot_break_out():
    drawing = svg.Drawing(10, 10)
    drawing.text(0, 0, '</text><script>"&\x1b')
    assert texts(parsed(drawing)) == ['</text><script>"&\\x1b']
