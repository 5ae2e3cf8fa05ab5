from __future__ import annotations

import pytest
from breaks import divergence, evidence, place, recognised

SUMMARY = "summary-without-prefix"


@pytest.mark.parametrize(
    "difference",
    [
        place("/tools", "prefix rebuilt", kind="tools", was="tools", words="the two prompts have nothing in common"),
        place("/tools", "list members", kind="tools", was="tools", words="the tools are gone"),
        place("/system/0", "list members", kind="system"),
        divergence("You are Osprey.", "You write summaries.", pointer="/messages/0/content"),
        divergence("You are Osprey at 09:13:53", "You write at 09:14:07", pointer="/instructions"),
        divergence("Book it.", "Summarise:\nuser: Book it.", kind="user", pointer="/contents/0/parts/0/text"),
        divergence("Buche es.", "Fasse zusammen:\nBuche es.", kind="user", pointer="/messages/1/content"),
        divergence("予約して。", "要約してください：予約して。", kind="user", pointer="/messages/1/content"),
    ],
)
def test_the_relation_decides(difference):
    name, said = recognised(evidence(difference, relation="summary"))
    assert (name, said.confidence) == (SUMMARY, "certain")
    assert recognised(evidence(difference, relation="rewrite"))[0] != SUMMARY


def test_what_it_says():
    found = place("/tools", "prefix rebuilt", kind="tools", was="tools", words="the tools are gone")
    _, said = recognised(evidence(found, relation="summary"))
    assert said.summary == (
        "A call that carries the conversation in another form shares 50% of its prefix: it differs from /tools on "
        "(the tools "
        "are gone)."
    )
    assert "append the request for a summary as the newest user message" in said.advice
