import pytest
from beside_given import A_CHANGE, LLAMACPP, VLLM, call, evidence, served_by

from hitrate.explain.causes.cannot_rewind import CannotRewind

FORCED = "forcing full prompt re-processing due to lack of cache data (likely due to SWA or hybrid memory)"
SAYS_SO = served_by(LLAMACPP, engine="llama-server", log=["main: server is listening", FORCED])
SWA = served_by(LLAMACPP, engine="llama-server", notes="n_swa = 1024")


def edit(*, relation="branch", cached=3, facts=SAYS_SO, **more):
    return evidence(
        call(0, 3000, 0), call(1, 3100, cached), relation=relation, shared=11000, reusable=2900, facts=facts, **more
    )


@pytest.mark.parametrize(
    ("given", "confidence", "words"),
    [
        (edit(), "certain", "forcing full prompt re-processing"),
        (edit(), "certain", "The prompt goes back to an earlier point"),
        (edit(relation="append"), "certain", "The engine's own log says"),
        (edit(relation="rewind"), "certain", "2,900 tokens are the same as before"),
        (edit(facts=SWA), "likely", "n_swa"),
        (
            edit(facts=served_by(VLLM, engine="mlx_lm", log="RotatingKVCache is not trimmable")),
            "certain",
            "not trimmable",
        ),
    ],
)
def test_the_state_cannot_be_cut_back(given, confidence, words):
    found = CannotRewind().recognise(given)
    assert found is not None
    assert found.confidence == confidence
    assert words in found.summary


NO_FINDING = {
    "such a model, and the text only grew": edit(relation="append", facts=SWA),
    "the log says nothing of it": edit(facts=served_by(LLAMACPP, engine="llama-server", log=["slot released"])),
    "no log": edit(facts=LLAMACPP),
    "served": edit(cached=2880),
    "nothing reported": edit(cached=None),
    "another conversation": edit(relation="opening", alone=True),
    "the text was changed": edit(relation="rewrite", divergence=A_CHANGE),
    "warm by the time of its first token": evidence(
        call(0, 3000, 0, ttft_s=9.0), call(1, 3100, 0, ttft_s=0.4), relation="branch", reusable=2900, facts=SAYS_SO
    ),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert CannotRewind().recognise(given) is None
