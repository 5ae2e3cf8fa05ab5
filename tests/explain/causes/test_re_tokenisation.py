from __future__ import annotations

import pytest
from breaks import evidence, place, recognised

MERGED = "token ids [310, 310] became [2214] at position 449; the same ids follow, so the text may be the same"


@pytest.mark.parametrize(
    ("pointer", "change", "name"),
    [
        ("/prompt_token_ids/449", "ids merged", "re-tokenisation"),
        ("/prompt/12", "ids merged", "re-tokenisation"),
        ("/input_ids/0", "ids merged", "re-tokenisation"),
        ("/prompt_token_ids/449", "ids", "prompt-changed"),
        ("/prompt/12", "ids", "prompt-changed"),
        ("/messages/1/content", "replaced", "history-edited"),
        ("/tools/0/name", "list order", "tool-order"),
        ("/input/1/id", "id value", "ids-regenerated"),
    ],
)
def test_only_ids_that_meet_again(pointer, change, name):
    kind = "tools" if pointer.startswith("/tools") else "user"
    assert recognised(evidence(place(pointer, change, kind=kind, was="310", now="2214", words=MERGED)))[0] == name


def test_it_is_the_engines_doing():
    from hitrate.explain.causes.re_tokenisation import ReTokenisation

    assert (ReTokenisation.verdict, ReTokenisation.voice) == ("engine", "observation")


def test_what_it_says():
    found = place("/prompt_token_ids/449", "ids merged", kind="user", was="310", now="2214", words=MERGED)
    _, said = recognised(evidence(found, facts={"granularity": 16}))
    assert said.confidence == "likely"
    assert said.summary == (
        "The text seems the same, cut into other tokens: token ids [310, 310] became [2214] at position 449; the "
        "same ids "
        "follow, so the text may be the same; in whole blocks of 16, 448 can be reused."
    )
