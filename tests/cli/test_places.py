"""What a cache rule needs to know beside the tokens is read from a logged request, whatever that lacks."""

from __future__ import annotations

import json

import pytest

from hitrate.caches.rules import rule_set
from hitrate.cli.places import can_place, places_by
from hitrate.core.model import Call
from hitrate.targets.dialects import dialect


@pytest.mark.parametrize("model", [None, "", "anthropic.claude-sonnet-4-5", "a model/with?odd characters"])
def test_a_request_to_a_model_of_any_name(model):
    rule = rule_set("bedrock-2026-11")
    assert can_place(rule)
    content = [{"text": "The harbour rules. " * 300}, {"cachePoint": {"type": "default"}}]
    body = json.dumps({"messages": [{"role": "user", "content": content}]}).encode()
    call = Call(target="", dialect="bedrock-converse", body=body, model=model)
    assert places_by(rule, dialect("bedrock-converse"))(call, [1200])
