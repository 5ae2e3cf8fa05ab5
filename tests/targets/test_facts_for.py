import pytest

from hitrate.core.model import Usage
from hitrate.targets.facts_for import facts_for, has_timings

ROUTED = "the router's session header (such as x-session-id)"
ANY = "your provider's session key (prompt_cache_key, user, or the header x-session-affinity)"


@pytest.mark.parametrize(
    ("target", "dialect", "model", "rule", "granularity", "minimum", "knob"),
    [
        ("", "openai-chat", "gpt-5.4", "openai-chat-before-gpt-5.6", 128, 1024, "prompt_cache_key"),
        ("OpenAI", "openai-chat", "gpt-4o", "openai-chat-before-gpt-5.6", 128, 1024, "prompt_cache_key"),
        ("", "openai-responses", "gpt-5.6-x", "openai-2026-09", 1, 1024, "prompt_cache_key"),
        ("", "anthropic-messages", "claude-sonnet-4-5", "anthropic-2026-11", 1, 1024, None),
        ("", "anthropic-messages", "claude-haiku-4-5-20251001", "anthropic-2026-11", 1, 4096, None),
        ("", "anthropic-messages", None, "anthropic-2026-11", 1, 1024, None),
        ("", "anthropic-messages", "MiniMax-M3", None, 1, None, None),
        ("", "bedrock-converse", "eu.anthropic.claude-opus-4-5-v1:0", "bedrock-2026-11", 1, 4096, None),
        ("openrouter", "openai-chat", "anthropic/claude-sonnet-4.5", "anthropic-2026-11", 1, 1024, "session_id"),
        ("", "openai-chat", "anthropic/claude-haiku-4.5", "anthropic-2026-11", 1, 4096, None),
        ("", "openai-chat", "deepseek-chat", "deepseek-2026-11", 64, 64, None),
        ("deepseek", "openai-chat", "deepseek-v4", "deepseek-2026-11", 64, 64, None),
        ("moonshot", "openai-chat", "kimi-k2", "moonshot-2026-11", 256, 256, "prompt_cache_key"),
        ("", "gemini-generate", "gemini-2.5-pro", None, 1, 4096, None),
        ("", "gemini-generate", "gemini-2.5-flash", None, 1, 1024, None),
        ("", "gemini-generate", "gemini-pro-x", None, 1, None, None),
        ("fireworks", "openai-chat", "m", None, 1, None, "prompt_cache_key"),
        ("xai", "openai-chat", "grok-4", None, 1, None, "the header x-grok-conv-id"),
        ("DeepInfra", "openai-chat", "m", None, 1, None, "the header x-session-affinity"),
        ("vllm", "openai-chat", "m", "vllm-2026-11", 16, 0, ROUTED),
        ("llamacpp", "openai-chat", "m", "llama.cpp-2026-10", 1, 0, None),
        ("llamacpp", "llamacpp-completion", None, "llama.cpp-2026-10", 1, 0, None),
        ("", "llamacpp-completion", None, None, 1, None, None),
        ("", "llamacpp-completion", "meta-llama/Llama-3.1-8B", None, 1, None, None),
        (
            "vllm",
            "llamacpp-completion",
            "m",
            "vllm-2026-11",
            16,
            0,
            "the router's session header (such as x-session-id)",
        ),
        ("", "openai-chat", "serverless-120b", None, 1, None, ANY),
        ("some-gateway", "openai-chat", "m", None, 1, None, ANY),
        ("", "tokens", None, None, 1, None, None),
        ("", "", None, None, 1, None, None),
    ],
)
def test_the_rule_by_target_wire_and_model(target, dialect, model, rule, granularity, minimum, knob):
    facts = facts_for(target, dialect, model)
    assert (facts.rule and facts.rule.name, facts.granularity, facts.minimum_tokens, facts.affinity_knob) == (
        rule,
        granularity,
        minimum,
        knob,
    )


def test_marked_rules():
    facts = facts_for("", "anthropic-messages", "claude-sonnet-4-5")
    assert (facts.requires_marks, facts.look_back, facts.most_marks, facts.ttl_s) == (True, 20, 4, 300.0)
    nova = facts_for("", "bedrock-converse", "amazon.nova-pro-v1:0")
    assert (nova.requires_marks, nova.look_back) == (True, 1)


def test_exact_rules():
    facts = facts_for("", "openai-responses", "gpt-5.6-x")
    assert (facts.exact_at_breakpoints, facts.requires_marks, facts.ttl_s) == (True, False, 1800.0)


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"minimum_tokens": 4096}, {"minimum_tokens": 4096}),
        ({"step": 128, "minimum": 1024}, {"granularity": 128, "minimum_tokens": 1024}),
        ({"block_tokens": 16}, {"granularity": 16}),
        ({"block_size": 1600}, {"granularity": 1600}),
        ({"match": "exact at a breakpoint", "implicit": "end of the newest message"}, {"exact_at_breakpoints": True}),
        ({"ttl": "1h"}, {"ttl_s": 3600.0}),
        ({"ttl_s": 60}, {"ttl_s": 60.0}),
        ({"look_back": 10, "max_markers": 2}, {"look_back": 10, "most_marks": 2}),
        ({"affinity": "x-my-session"}, {"affinity_knob": "x-my-session"}),
        ({"requires_marks": True}, {"requires_marks": True}),
        ({"step": 0}, {"granularity": 1}),
        ({"step": "many", "ttl": "soon", "minimum": None}, {"granularity": 1, "ttl_s": None, "minimum_tokens": None}),
        ({"minimum": 0}, {"minimum_tokens": 0}),
    ],
)
def test_what_the_log_states_wins(rules, expected):
    facts = facts_for("", "openai-chat", "some-model", rules)
    assert {name: getattr(facts, name) for name in expected} == expected
    assert facts.rules == rules


@pytest.mark.parametrize(
    ("server", "rule", "granularity", "ttl_s"),
    [
        ({"engine": "llama-server", "args": "-np 1 --cache-ram 0"}, "llama.cpp-2026-10", 1, None),
        ({"engine": "vLLM 0.33", "args": "--block-size 32"}, "vllm-2026-11", 32, None),
        ({"engine": "sglang", "args": "--page-size=64"}, "sglang-2026-11", 64, None),
        ({"engine": "lmdeploy 0.18"}, "lmdeploy-2026-11", 64, None),
        ({"engine": "trtllm-serve"}, "tensorrt-llm-2026-11", 1, None),
        ({"engine": "text-generation-inference"}, "tgi-2026-11", 1, None),
        ({"engine": "ollama 0.9"}, "ollama-2026-11", 1, 300.0),
        ({"engine": "mlx_lm.server"}, "mlx-lm-2026-11", 1, None),
        ({"engine": "local prefix cache, longest common prefix"}, "longest-prefix", 1, None),
        ({"engine": "something of our own", "block_size": 64}, None, 64, None),
    ],
)
def test_the_engine_that_the_log_names(server, rule, granularity, ttl_s):
    facts = facts_for("", "openai-chat", "gpt-5.4", None, server)
    assert (facts.rule and facts.rule.name, facts.granularity, facts.ttl_s) == (rule, granularity, ttl_s)
    assert facts.server == server


@pytest.mark.parametrize(
    ("usage", "rule"),
    [
        (Usage(), None),
        (Usage(sources={"prompt_tokens": "timings.cache_n + timings.prompt_n"}), "llama.cpp-2026-10"),
        (Usage(cached_source="timings.cache_n"), "llama.cpp-2026-10"),
        (Usage(sources={"prompt_tokens": "tokens_evaluated"}), "llama.cpp-2026-10"),
        (Usage(sources={"prompt_tokens": "usage.prompt_tokens"}), None),
    ],
)
def test_rendered_prompts_are_of_llama_cpp_where_the_counts_are(usage, rule):
    found = facts_for("", "llamacpp-completion", "local-8b", timings=has_timings(usage)).rule
    assert (found and found.name) == rule


def test_timings_tell_llama_cpp():
    facts = facts_for("", "openai-chat", "local-8b", timings=True)
    assert facts.rule is not None
    assert facts.rule.name == "llama.cpp-2026-10"
