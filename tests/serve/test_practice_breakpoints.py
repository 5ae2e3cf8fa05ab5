"""Rules with marks, exact breakpoints and units, followed over the wires on a clock of the test."""

from __future__ import annotations

import json

import msgspec
import pytest
from practice_fakes import Caller, chat_body, options_as, words

from hitrate.core.prompt import Segment
from hitrate.serve.practice.breakpoints import block_of
from hitrate.serve.practice.wire import Refused

MARK = {"cache_control": {"type": "ephemeral"}}
LONG = 1500


def text(content, **marker):
    return {"type": "text", "text": content, **marker}


class Claude:
    """Content blocks of one user message, sent as Messages requests."""

    def __init__(self, name="anthropic", **given):
        self.caller = Caller(options_as(name, **given))
        self.model = self.caller.service.options.models[0].name

    def job(self, *blocks, **members):
        members = {"max_tokens": 1, "messages": [{"role": "user", "content": list(blocks)}], **members}
        body = json.dumps({"model": self.model, **members}).encode()
        return self.caller.send("/v1/messages", body, {"anthropic-version": "2023-06-01"})[0]

    def counts(self, *blocks, **members):
        """Cached and written tokens."""
        job = self.job(*blocks, **members)
        return job.cached_tokens, job.lease.written_tokens


@pytest.mark.parametrize(
    ("between", "cached"),
    [
        # The marked block itself is one of the twenty.
        (19, LONG + 1),
        (20, 0),
    ],
)
def test_a_mark_looks_back_twenty_blocks(between, cached):
    claude = Claude()
    opening = text(words(LONG), **MARK)
    assert claude.counts(opening) == (0, LONG + 1)
    blocks = [text(words(LONG)), *(text(f"block {number}") for number in range(between - 1)), text("last", **MARK)]
    assert claude.counts(*blocks)[0] == cached


def test_neighbouring_tool_results_are_one_step_of_the_look_back():
    claude = Claude()
    assert claude.counts(text(words(LONG), **MARK)) == (0, LONG + 1)
    results = [{"type": "tool_result", "tool_use_id": str(number), "content": "x"} for number in range(30)]
    assert claude.counts(text(words(LONG)), *results, text("last", **MARK))[0] == LONG + 1
    others = [text(str(number)) for number in range(30)]
    assert claude.counts(text(words(LONG)), *others, text("last", **MARK))[0] == 0


@pytest.mark.parametrize(
    ("given", "ttl", "idle_s", "is_read"),
    [
        ({}, {}, 300.0, True),
        ({}, {}, 301.0, False),
        ({}, {"ttl": "5m"}, 301.0, False),
        ({}, {"ttl": "1h"}, 3600.0, True),
        ({}, {"ttl": "1h"}, 3601.0, False),
        ({"ttl_s": 2.0}, {}, 3.0, False),
        ({"ttl_s": 2.0}, {"ttl": "1h"}, 3.0, True),
    ],
)
def test_lifetime(given, ttl, idle_s, is_read):
    claude = Claude(**given)
    block = text(words(LONG), cache_control={"type": "ephemeral", **ttl})
    claude.job(block)
    claude.caller.now += idle_s
    assert (claude.job(block).cached_tokens > 0) is is_read


def test_a_read_renews_the_lifetime():
    claude = Claude()
    found = []
    for _ in range(4):
        found.append(claude.job(text(words(LONG), **MARK)).cached_tokens)
        claude.caller.now += 250.0
    assert found == [0, LONG + 1, LONG + 1, LONG + 1]


def test_writes_reach_from_the_hit_to_the_last_mark():
    claude = Claude()
    tool = {"name": "find", "input_schema": {"description": words(LONG)}, **MARK}
    members = {"tools": [tool], "system": [text(words(200), **MARK)]}
    cached, written = claude.counts(text("first"), **members)
    assert cached == 0 and written > LONG + 200
    members["system"] = [text("changed", **MARK)]
    again = claude.job(text("second"), **members)
    # The tools are read, the changed system prompt is written.
    assert 0 < again.cached_tokens < written
    assert again.lease.written_by_ttl == {300.0: 3}


def test_a_mark_for_the_whole_request_stands_on_its_last_block():
    claude = Claude()
    assert claude.counts(text(words(LONG)), **MARK) == (0, LONG + 1)
    assert claude.counts(text(words(LONG)), text("more"), **MARK) == (LONG + 1, 2)


@pytest.mark.parametrize(
    ("members", "messages_found"),
    [
        ({}, True),
        ({"tool_choice": {"type": "auto"}}, True),
        ({"thinking": {"type": "disabled"}}, True),
        ({"temperature": 0.5}, True),
        ({"tool_choice": {"type": "any"}}, False),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, False),
        ({"output_config": {"effort": "low"}}, False),
    ],
)
def test_settings_that_part_the_messages_but_not_tools_and_system(members, messages_found):
    claude = Claude()
    opening = {
        "tools": [{"name": "find", "input_schema": {"type": "object"}}],
        "system": [text(words(LONG), **MARK)],
    }
    question = text(words(200), **MARK)
    first = claude.job(question, **opening)
    again = claude.job(question, **opening, **members)
    assert again.prompt_tokens == first.prompt_tokens
    system = first.prompt_tokens - 204
    assert again.cached_tokens == (first.lease.written_tokens if messages_found else system)


def test_an_image_makes_earlier_messages_new():
    claude = Claude()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    assert claude.counts(text(words(LONG)), text("a", **MARK))[0] == 0
    assert claude.counts(text(words(LONG)), text("a", **MARK), image)[0] == 0
    assert claude.counts(text(words(LONG)), text("a", **MARK))[0] > LONG


def test_calls_sent_at_once_all_write():
    claude = Claude()
    body = json.dumps(
        {
            "model": claude.model,
            "max_tokens": 1,
            "messages": [{"role": "user", "content": [text(words(LONG), **MARK)]}],
        }
    ).encode()
    accepted = [claude.caller.accept("/v1/messages", body, {"anthropic-version": "x"}) for _ in range(3)]
    assert [one.job.cached_tokens for one in accepted] == [0, 0, 0]
    assert [one.job.lease.written_tokens for one in accepted] == [LONG + 1] * 3


def test_below_the_minimum_nothing_is_written():
    assert Claude().counts(text(words(1022), **MARK)) == (0, 0)
    assert Claude().counts(text(words(1023), **MARK)) == (0, 1024)


@pytest.mark.parametrize(
    ("blocks", "members", "says"),
    [
        ([text(str(number), **MARK) for number in range(5)], {}, "at most 4 blocks may be marked for caching, found 5"),
        ([text("a", **MARK), text("b", cache_control={"type": "ephemeral", "ttl": "1h"})], {}, "a longer lifetime"),
        (
            [text("a", cache_control={"type": "ephemeral", "ttl": "2h"})],
            {},
            "the lifetime '2h' is not known; known: '5m'",
        ),
        ([text("a")], {"max_tokens": None}, "max_tokens: Field required"),
        (
            [text("a")],
            {"messages": [{"role": "tool", "content": "x"}]},
            "messages.0.role: expected one of user, assistant",
        ),
        ([text("a")], {"messages": "x"}, "'messages' has to be an array"),
    ],
)
def test_what_the_messages_wire_refuses(blocks, members, says):
    with pytest.raises(Refused, match=says) as caught:
        Claude().job(*blocks, **members)
    assert caught.value.status == 400


def test_a_version_header_is_required_of_anthropic_alone():
    body = json.dumps({"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}).encode()
    with pytest.raises(Refused, match="does not exist"):
        Caller(options_as("vllm")).accept("/v1/messages", body)
    claude = Claude()
    with pytest.raises(Refused, match="anthropic-version: header is required"):
        claude.caller.accept("/v1/messages", body.replace(b'"m"', json.dumps(claude.model).encode()))


def chat_counts(caller, messages, **members):
    """Cached and written tokens of a chat request."""
    members = {"max_completion_tokens": 1, **members}
    body = json.dumps({"model": caller.service.options.models[0].name, "messages": messages, **members}).encode()
    job, _ = caller.send("/v1/chat/completions", body)
    return job.cached_tokens, job.lease.written_tokens


def user(*content):
    return {"role": "user", "content": content[0] if len(content) == 1 else list(content)}


BREAKPOINT = {"prompt_cache_breakpoint": {"mode": "explicit"}}


def test_gpt_does_not_find_an_opening_that_was_no_breakpoint():
    caller = Caller(options_as("openai"))
    system = {"role": "system", "content": words(LONG)}
    for question in ("one", "two", "three"):
        assert chat_counts(caller, [system, user(question)])[0] == 0
    marked = {"role": "system", "content": [text(words(LONG), **BREAKPOINT)]}
    assert chat_counts(caller, [marked, user("four")])[0] == 0
    assert chat_counts(caller, [marked, user("five")])[0] == LONG + 1


@pytest.mark.parametrize(
    ("options", "cached", "written"),
    [
        ({}, LONG + 1, 0),
        ({"mode": "implicit"}, LONG + 1, 0),
        ({"mode": "explicit"}, 0, 0),
    ],
)
def test_explicit_mode_without_marks_uses_no_cache(options, cached, written):
    caller = Caller(options_as("openai"))
    chat_counts(caller, [user(words(LONG))])
    assert chat_counts(caller, [user(words(LONG))], prompt_cache_options=options) == (cached, written)


@pytest.mark.parametrize(
    ("ttl", "idle_s", "is_read"), [("30m", 1801, False), ("12h", 1801, True), ("12h", 43201, False)]
)
def test_gpt_keeps_what_it_wrote_as_long_as_was_asked(ttl, idle_s, is_read):
    caller = Caller(options_as("openai"))
    chat_counts(caller, [user(words(LONG))], prompt_cache_options={"ttl": ttl})
    caller.now += idle_s
    assert (chat_counts(caller, [user(words(LONG))])[0] > 0) is is_read


def test_gpt_refuses_other_options():
    caller = Caller(options_as("openai"))
    for options, says in (({"ttl": "5m"}, "prompt_cache_options.ttl: the lifetime '5m'"), ({"mode": "off"}, "'off'")):
        with pytest.raises(Refused, match=says):
            chat_counts(caller, [user("x")], prompt_cache_options=options)


def test_markers_of_another_vendor_mean_nothing():
    caller = Caller(options_as("openai"))
    content = [text(words(LONG), **MARK), text("question")]
    chat_counts(caller, [user(*content)])
    assert chat_counts(caller, [user(text(words(LONG), **MARK), text("other"))])[0] == 0


def test_dashscope_counts_the_last_four_markers_and_keeps_them_from_the_end_of_a_reply():
    caller = Caller(options_as("dashscope"))
    parts = [text(words(LONG, number * LONG), **MARK) for number in range(5)]
    assert chat_counts(caller, [user(*parts)])[0] == 0
    # The first mark was one too many; the second one's place was written.
    assert chat_counts(caller, [user(*parts[:2])])[0] == 2 * LONG + 2
    assert chat_counts(Caller(options_as("dashscope")), [user(text("x"))], max_tokens=1) == (0, 0)


def test_deepseek_finds_a_shared_opening_at_the_third_call():
    caller = Caller(options_as("deepseek"))
    found = []
    for question in ("one", "two", "three"):
        body = chat_body(
            {"role": "system", "content": words(200)},
            {"role": "user", "content": question},
            model="deepseek-flash",
            max_tokens=1,
        )
        found.append(caller.send("/v1/chat/completions", body)[0].cached_tokens)
        caller.now += 10.0
    # What is shared: the system message of 200 words, and the opening of the user's.
    assert found == [0, 0, 203]


def test_deepseek_needs_seconds_to_write():
    caller = Caller(options_as("deepseek"))
    body = chat_body(words(200), model="deepseek-flash", max_tokens=1)
    found = []
    for _ in range(3):
        found.append(caller.send("/v1/chat/completions", body)[0].cached_tokens)
        caller.now += 4.0
    assert found[:2] == [0, 0] and found[2] > 200


def gemini(caller, question="hi", **members):
    body = {"contents": [{"role": "user", "parts": [{"text": question}]}], **members}
    job, data = caller.send("/v1beta/models/gemini-3-flash-preview:generateContent", json.dumps(body).encode())
    return job.cached_tokens, msgspec.json.decode(data)["usageMetadata"].get("cachedContentTokenCount")


def test_gemini_serves_an_object_until_it_expires():
    caller = Caller(options_as("gemini", replicas=3, routing="random"))
    objects = caller.service.objects
    made = objects.create("gemini-3-flash-preview", range(2000), ttl_s=60.0, display_name=None, now=caller.now)
    assert gemini(caller) == (0, None)
    assert {gemini(caller, str(number), cachedContent=made.name) for number in range(6)} == {(2000, 2000)}
    caller.now = 59.0
    assert gemini(caller, cached_content=made.name) == (2000, 2000)
    caller.now = 60.0
    with pytest.raises(Refused, match="no cached content"):
        gemini(caller, cachedContent=made.name)
    assert list(objects.living(caller.now)) == []


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"cachedContent": "cachedContents/9"}, "no cached content 'cachedContents/9'"),
        ({"cachedContent": "cachedContents/9", "systemInstruction": {"parts": []}}, "cannot set systemInstruction"),
        ({"contents": []}, "'contents' has to be an array"),
        ({"generationConfig": {"maxOutputTokens": 0}}, "'maxOutputTokens' is 0"),
    ],
)
def test_what_gemini_refuses(members, says):
    with pytest.raises(Refused, match=says):
        gemini(Caller(options_as("gemini")), **members)


def test_objects_need_a_rule_that_has_them():
    objects = Caller(options_as("gemini", rule="block-chain")).service.objects
    with pytest.raises(Refused, match="has no cached objects"):
        objects.create("m", range(2000), ttl_s=None, display_name=None, now=0.0)


@pytest.mark.parametrize(
    ("pointer", "block"),
    [
        ("/tools/3", "/tools/3"),
        ("/toolConfig/tools/1/toolSpec", "/toolConfig/tools/1"),
        ("/system", "/system"),
        ("/system/0/text", "/system/0"),
        ("/messages/4/content", "/messages/4"),
        ("/messages/4/content/2/text", "/messages/4/content/2"),
        ("/messages/4/content/2/content/1/text", "/messages/4/content/2"),
        ("/messages/4/tool_calls/0/function/name", "/messages/4/tool_calls/0"),
        ("/input/7/arguments", "/input/7"),
        ("/contents/1/parts/0/text", "/contents/1/parts/0"),
    ],
)
def test_the_block_of_a_segment(pointer, block):
    assert block_of(Segment("user", pointer, 0, 0, "x")) == block
