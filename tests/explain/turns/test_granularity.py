import pytest

from hitrate.explain.turns.granularity import infer_granularity


def block(step, lengths):
    return [(length, (length - 1) // step * step) for length in lengths]


LENGTHS = (34, 131, 517, 1033, 2071, 3400)


@pytest.mark.parametrize("step", [16, 32, 64, 128, 256])
def test_a_block_rule_is_recovered(step):
    assert infer_granularity(block(step, LENGTHS)).step == step


def test_lengths_that_lie_whole_steps_apart_cannot_tell_a_step_from_the_length():
    found = infer_granularity(block(16, (1026, 1426, 1826)))
    assert found.step is None
    assert found.text == (
        "These lengths cannot tell whether cached tokens follow the length or go up in steps of 16, because they lie "
        "whole steps apart. Use others, like 100,217,333."
    )


def test_one_token_less_than_the_prompt_follows_the_length():
    found = infer_granularity([(length, length - 1) for length in LENGTHS])
    assert found.step == 1
    assert found.text == "Cached tokens follow the length: all but the last 1 of every prompt (granularity 1)."


def test_a_minimum_is_bracketed():
    points = [(length, 0 if length < 1024 else (length - 1) // 128 * 128) for length in (517, 1000, 1100, 1500, 2071)]
    found = infer_granularity(points)
    assert (found.step, found.minimum) == (128, (1000, 1100))
    assert "Nothing is credited at 1,000 tokens, something at 1,100." in found.text


def test_steps_that_also_fit_are_named():
    assert infer_granularity([(1025, 1024)]).text == (
        "Cached tokens go up in steps of 1024 (fits all 1 credited length; 512, 256, 128 not excluded)."
    )


@pytest.mark.parametrize(
    ("points", "text"),
    [
        ([(500, 0), (1000, 0)], "Nothing was credited at any of these lengths."),
        ([], "Nothing was credited at any of these lengths."),
        (
            [(1000, 640), (2000, 1280)],
            "Cached tokens come in multiples of 640, but fewer than whole steps of it would give.",
        ),
        ([(1000, 601), (2000, 1404)], "No step fits all 2 credited lengths."),
    ],
)
def test_what_cannot_be_told_is_said(points, text):
    found = infer_granularity(points)
    assert (found.step, found.text) == (None, text)
