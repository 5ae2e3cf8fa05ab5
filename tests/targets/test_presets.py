import re

import pytest

from hitrate.errors import InputFileError, KeyMissing, UsageError
from hitrate.targets import dialects
from hitrate.targets.presets import Knob, Target, all_names, check_base_url, key_for, load, require_base_url
from hitrate.tokens import TOLD_BY_ENGINE, tokenizer

RULE_SETS = {
    None,
    "block-chain",
    "slots",
    "vllm-2026-11",
    "sglang-2026-11",
    "llama.cpp-2026-10",
    "ollama-2026-11",
    "moonshot-2026-11",
    "lmdeploy-2026-11",
    "tensorrt-llm-2026-11",
    "tgi-2026-11",
    "deepseek-2026-11",
    "mlx-lm-2026-11",
    "openai-chat-before-gpt-5.6",
    "openai-2026-09",
    "anthropic-2026-11",
    "bedrock-2026-11",
}
ON_THIS_MACHINE = {
    *("practice", "llamacpp", "vllm", "sglang", "mlx", "ollama", "lmstudio", "dynamo"),
    *("lmdeploy", "tensorrt-llm", "tgi"),
}
PRESETS = """
anthropic azure baseten bedrock cerebras cloudflare cohere crusoe dashscope deepinfra deepseek dynamo fireworks gemini
gemini-openai groq llamacpp lmdeploy lmstudio minimax mistral mlx moonshot novita ollama openai openai-responses
openrouter practice sambanova sglang tensorrt-llm tgi together vllm xai zai
""".split()  # noqa: SIM905  a table of names is easier to read so


@pytest.fixture
def none(tmp_path):
    return tmp_path / "targets.toml"


@pytest.fixture
def own(none):
    def write(text):
        none.write_text(text, encoding="utf-8")
        return none

    return write


def test_all_names(none):
    assert all_names(none) == PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_whole(name, none):
    target = load(name, none)
    assert target.name == name
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", target.date)
    assert target.source.startswith("https://") or name == "practice"
    assert target.reports_cached != "not known"
    assert dialects.dialect(target.dialect)
    assert {target.rule_set, *target.rule_set_by_model.values()} <= RULE_SETS
    if target.tokenizer not in (None, *TOLD_BY_ENGINE):
        assert tokenizer(target.tokenizer).name == target.tokenizer
    if name in ON_THIS_MACHINE:
        assert target.base_url.startswith("http://127.0.0.1:")
        assert target.start_command
        assert target.key_variable is None or not target.key_required
    else:
        assert target.base_url is None or target.base_url.startswith("https://")
        assert target.key_variable
        assert target.key_required
        assert target.start_command is None


@pytest.mark.parametrize(
    ("name", "base_url", "key_variable", "affinity", "cold_knob"),
    [
        ("crusoe", "https://api.inference.crusoecloud.com/v1", "CRUSOE_API_KEY", (), None),
        (
            "fireworks",
            "https://api.fireworks.ai/inference/v1",
            "FIREWORKS_API_KEY",
            (Knob("body", "prompt_cache_key"), Knob("body", "user"), Knob("header", "x-session-affinity")),
            Knob("body", "prompt_cache_isolation_key"),
        ),
        ("xai", "https://api.x.ai/v1", "XAI_API_KEY", (Knob("header", "x-grok-conv-id"),), None),
        ("vllm", "http://127.0.0.1:8000/v1", "VLLM_API_KEY", (), Knob("body", "cache_salt")),
        ("azure", None, "AZURE_OPENAI_API_KEY", (Knob("body", "prompt_cache_key"),), None),
    ],
)
def test_facts_of_presets(name, base_url, key_variable, affinity, cold_knob, none):
    target = load(name, none)
    assert (target.base_url, target.key_variable) == (base_url, key_variable)
    assert (target.affinity, target.cold_knob) == (affinity, cold_knob)


@pytest.mark.parametrize(
    ("url", "base_url"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("https://llm.example.com/api/v3/", "https://llm.example.com/api/v3"),
        ("https://llm.example.com/v1/chat/completions", "https://llm.example.com/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        (" https://llm.example.com/v1 ", "https://llm.example.com/v1"),
    ],
)
def test_an_address_is_a_target(url, base_url, none):
    target = load(url, none)
    assert target.base_url == base_url
    assert (target.dialect, target.key_variable, target.rule_set, target.affinity) == ("openai-chat", None, None, ())
    assert key_for(target, {"OPENAI_API_KEY": "secret"}) is None


@pytest.mark.parametrize(
    ("url", "dialect", "base_url"),
    [
        ("http://127.0.0.1:1", "anthropic-messages", "http://127.0.0.1:1/v1"),
        ("http://127.0.0.1:1/v1/messages", "anthropic-messages", "http://127.0.0.1:1/v1"),
        ("http://127.0.0.1:1/v1/responses", "openai-responses", "http://127.0.0.1:1/v1"),
        ("http://127.0.0.1:1", "gemini-generate", "http://127.0.0.1:1/v1beta"),
        ("http://127.0.0.1:1/", "bedrock-converse", "http://127.0.0.1:1"),
        ("http://127.0.0.1:1", "llamacpp-completion", "http://127.0.0.1:1"),
    ],
)
def test_a_bare_host_gets_what_its_wire_wants(url, dialect, base_url):
    assert check_base_url(url, dialect) == base_url


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (None, "openai-chat-before-gpt-5.6"),
        ("gpt-4.1", "openai-chat-before-gpt-5.6"),
        ("gpt-5.6-luna", "openai-2026-09"),
        ("openai/GPT-6", "openai-2026-09"),
    ],
)
def test_the_rule_depends_on_the_model(model, rule, none):
    assert load("openai", none).rule_set_for(model) == rule


def test_a_target_that_can_sign_needs_no_key(none):
    assert key_for(load("bedrock", none), {}) is None
    assert key_for(load("bedrock", none), {"AWS_BEARER_TOKEN_BEDROCK": "k"}) == "k"


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("ftp://x/v1", "no base URL"),
        ("http://", "no base URL"),
        ("http://x:99999/v1", "no base URL"),
        ("https://x/v1?key=1", "no base URL"),
        ("https://me:secret@x/v1", "must not hold a user name"),
    ],
)
def test_addresses_that_are_none(url, fault, none):
    with pytest.raises(UsageError, match=fault) as caught:
        load(url, none)
    assert "secret" not in str(caught.value)


def test_check_base_url_needs_a_scheme():
    with pytest.raises(UsageError, match="'localhost:8000' is no base URL"):
        check_base_url("localhost:8000")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("firework", "nearest: fireworks"),
        ("OpenAI", "nearest: openai"),
        ("llama.cpp", "nearest: llamacpp"),
        ("qqq", "known: anthropic, azure"),
        ("../../etc/passwd", "known: anthropic"),
        ("", "known: anthropic"),
    ],
)
def test_unknown_names_get_the_nearest(name, hint, none):
    with pytest.raises(UsageError, match=f"no target called .*; {hint}"):
        load(name, none)


def test_own_targets_and_changed_presets(own):
    file = own(
        """
        [staging]
        base_url = "https://llm.example.com/v1/"
        key_variable = "STAGING_KEY"
        cold_knob = { place = "header", name = "x-cold" }

        [azure]
        base_url = "https://res.openai.azure.com/openai/v1"
        """
    )
    assert load("staging", file) == Target(
        name="staging",
        base_url="https://llm.example.com/v1",
        key_variable="STAGING_KEY",
        cold_knob=Knob("header", "x-cold"),
    )
    azure = load("azure", file)
    assert require_base_url(azure) == "https://res.openai.azure.com/openai/v1"
    assert azure.key_variable == "AZURE_OPENAI_API_KEY"
    assert all_names(file) == sorted([*PRESETS, "staging"])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[a]\nbase_url = \n", r"targets.toml, line 2, column 12: expected TOML: "),
        ("[a\n", r"targets.toml, line 1, column 3: expected TOML: "),
        ("x = 1\n", r"targets.toml, line 1: expected a table \[x\], found a value"),
        ("\n[a]\nbase_url = 7\n", r"targets.toml, line 2: \[a\] Expected `str \| null`, got `int` - at `\$.base_url`"),
        ("[a]\nbase_uri = 'x'\n", r"targets.toml, line 1: \[a\] Object contains unknown field `base_uri`"),
        ("[a]\nbase_url = 'nowhere'\n", r"targets.toml, line 1: \[a\] 'nowhere' is no base URL"),
        (
            "[a]\naffinity = [{ place = 'query', name = 'x' }]\n",
            r"line 1: \[a\] Invalid enum value 'query' - at `\$.affinity\[0\].place`",
        ),
    ],
)
def test_faults_in_the_users_file_name_the_place(text, fault, own):
    with pytest.raises(InputFileError, match=fault) as caught:
        load("a", own(text))
    assert "\n" not in caught.value.message


def test_a_users_file_that_is_not_utf_8(none):
    none.write_bytes(b"[a]\n\xff")
    with pytest.raises(InputFileError, match="not UTF-8 at byte 4"):
        load("a", none)


def test_a_target_without_base_url_says_where_to_put_it(none):
    with pytest.raises(UsageError, match=r"azure has no base URL of its own: give it with --base-url"):
        require_base_url(load("azure", none))


@pytest.mark.parametrize(
    ("name", "environ", "key"),
    [
        ("crusoe", {"CRUSOE_API_KEY": " k-1\n"}, "k-1"),
        ("vllm", {}, None),
        ("vllm", {"VLLM_API_KEY": "k-2"}, "k-2"),
        ("ollama", {"OPENAI_API_KEY": "k-3"}, None),
    ],
)
def test_key_for(name, environ, key, none):
    assert key_for(load(name, none), environ) == key


@pytest.mark.parametrize("environ", [{}, {"CRUSOE_API_KEY": "  "}])
def test_a_missing_key_is_named(environ, none):
    with pytest.raises(
        KeyMissing, match=r"crusoe needs a key and CRUSOE_API_KEY is not set; nothing was sent"
    ) as caught:
        key_for(load("crusoe", none), environ)
    assert "export CRUSOE_API_KEY=" in caught.value.hint
    assert caught.value.exit_code == 3


def test_a_key_that_no_header_can_hold_is_not_shown(none):
    with pytest.raises(KeyMissing, match="holds characters that cannot be sent; nothing was sent") as caught:
        key_for(load("crusoe", none), {"CRUSOE_API_KEY": "se\ncret"})
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("not known", None),
        ("yes: usage.cached_tokens", None),
        ("only when started with --enable-cache-report", "only when started with --enable-cache-report"),
        ("yes, when prompt_cache_key is sent: usage.n", "when prompt_cache_key is sent: usage.n"),
    ],
)
def test_a_missing_report_is_explained_only_where_something_is_known(said, hint):
    assert Target(name="t", dialect="openai-chat", reports_cached=said).reporting_hint == hint
