import pytest
from beside_given import A_CHANGE, LLAMACPP, call, evidence, served_by

from hitrate.explain.causes.engine_restarted import EngineRestarted


def after(line, *, cached=0, **more):
    facts = served_by(LLAMACPP, engine="llama-server", log=["main: model loaded", line])
    return evidence(call(0, 3000, 0), call(1, 3100, cached), facts=facts, **more)


@pytest.mark.parametrize(
    "line",
    [
        "systemd: llama-server.service: scheduled restart job",
        "CUDA error: out of memory",
        'msg="runner expired event received" unloading model',
        "POST /reset_prefix_cache 200",
        "cache flushed successfully",
        "worker was killed by signal 9",
        "Segmentation fault (core dumped)",
        "OOM: process 412 ended",
    ],
)
def test_the_log_of_the_engine_says_so(line):
    found = EngineRestarted().recognise(after(line))
    assert found is not None
    assert found.confidence == "likely"
    assert line in found.summary


NO_FINDING = {
    "an ordinary line": after("slot release: id 0"),
    "room is named": after("KV cache has room for 4 sequences"),
    "part was served": after("scheduled restart job", cached=1500),
    "served": after("scheduled restart job", cached=2999),
    "nothing reported": after("scheduled restart job", cached=None),
    "the text was changed": after("scheduled restart job", relation="rewrite", divergence=A_CHANGE),
    "another conversation": after("scheduled restart job", relation="opening", alone=True),
    "no log": evidence(call(0, 3000, 0), call(1, 3100, 0), facts=LLAMACPP),
}


@pytest.mark.parametrize("given", NO_FINDING.values(), ids=NO_FINDING.keys())
def test_nothing_is_said_of(given):
    assert EngineRestarted().recognise(given) is None
