import pytest

from hitrate.core.model import Call
from hitrate.errors import ContextTooSmall, KeyRefused, ModelNotFound, RateLimited, TargetError
from hitrate.live.failures import command_word, refusal
from hitrate.targets.presets import Target

VLLM = Target(name="vllm", base_url="http://127.0.0.1:8000/v1", key_variable="VLLM_API_KEY")
ADDRESS = Target(name="10.0.0.7:9000", base_url="http://10.0.0.7:9000/v1")


def failed(status, error=None, **members):
    return Call(target="t", dialect="openai-chat", body=b"{}", model="qwen", status=status, error=error, **members)


@pytest.mark.parametrize("status", [None, 200, 500, 502, 503])
def test_what_may_pass_is_no_refusal(status):
    assert refusal(failed(status, "busy"), VLLM, known_models=()) is None


@pytest.mark.parametrize(
    ("target", "call", "kind", "says"),
    [
        (
            VLLM,
            failed(401, "Unauthorized"),
            KeyRefused,
            "vllm refused the key (HTTP 401: Unauthorized); check the key in VLLM_API_KEY",
        ),
        (
            ADDRESS,
            failed(403),
            KeyRefused,
            "10.0.0.7:9000 refused the key (HTTP 403); it wants a key: name its variable with --key-variable",
        ),
        (
            VLLM,
            failed(404, "The model `qwen` does not exist."),
            ModelNotFound,
            "vllm has no model 'qwen' (HTTP 404: The model `qwen` does not exist.); "
            "list its ids with: hitrate models vllm",
        ),
        (
            VLLM,
            failed(404, "Not Found"),
            TargetError,
            "vllm has no such address: POST http://127.0.0.1:8000/v1/chat/completions (HTTP 404: Not Found); is the "
            "base URL right?",
        ),
        (
            VLLM,
            failed(422, "messages: too short"),
            TargetError,
            "vllm refused the request (HTTP 422: messages: too short)",
        ),
        (
            VLLM,
            failed(429, "slow down", waits=(1.5, 2.5)),
            RateLimited,
            "vllm still answers 429 (waited 4 s, 2 times; it says: slow down); lower the rate with --rpm or use fewer "
            "--sessions",
        ),
        (
            VLLM,
            failed(429, "slow down", waits=(1.0,), response_headers={"x-ratelimit-limit-requests": "60"}),
            RateLimited,
            "vllm still answers 429 (waited 1 s, once; limit seen: 60 requests; it says: slow down); lower the rate "
            "with --rpm or use fewer --sessions",
        ),
        (
            VLLM,
            failed(
                400,
                "This model's maximum context length is 4096 tokens. However, you requested 5010 tokens (5000 in the "
                "messages, 10 in the completion).",
            ),
            ContextTooSmall,
            "vllm: the prompt has 5,000 tokens and the context only 4,096; start the server with a larger "
            "--max-model-len",
        ),
        (
            ADDRESS,
            failed(400, "prompt is too long: 210000 tokens > 200000 maximum"),
            ContextTooSmall,
            "10.0.0.7:9000: the prompt has 210,000 tokens and the context only 200,000; use a shorter prompt or a "
            "model with a larger context; a server of your own has a setting for it (llama.cpp --ctx-size, shared by "
            "its slots; vLLM --max-model-len; SGLang --context-length)",
        ),
    ],
)
def test_refusals(target, call, kind, says):
    error = refusal(call, target, known_models=())
    assert type(error) is kind
    assert error.message == says


@pytest.mark.parametrize(
    ("said", "listed", "kind", "says"),
    [
        (
            "model not found",
            ["Qwen/qwen", "gemma"],
            ModelNotFound,
            "vllm has no model 'qwen' (HTTP 404: model not found); nearest ids: Qwen/qwen",
        ),
        (
            "model not found",
            ["qwen"],
            TargetError,
            "vllm refused the model 'qwen', which it lists (HTTP 404: model not found)",
        ),
        (
            "Not Found",
            ["qwen"],
            TargetError,
            "vllm has no such address: POST http://127.0.0.1:8000/v1/chat/completions (HTTP 404: Not Found); is the "
            "base URL right?",
        ),
        (
            "Not Found",
            ["Qwen/qwen", "gemma"],
            TargetError,
            "vllm has no such address: POST http://127.0.0.1:8000/v1/chat/completions (HTTP 404: Not Found); is the "
            "base URL right? It lists no model 'qwen'; nearest ids: Qwen/qwen",
        ),
    ],
)
def test_a_404_is_about_the_model_only_where_it_says_so(said, listed, kind, says):
    error = refusal(failed(404, said), VLLM, known_models=listed)
    assert (type(error), error.message) == (kind, says)


@pytest.mark.parametrize(
    ("name", "word"),
    [("vllm", "vllm"), ("10.0.0.7:9000", "U"), ("api.example.com", "U"), ("localhost:1", "U"), ("my-team", "my-team")],
)
def test_what_names_a_target_on_a_command_line(name, word):
    assert command_word(Target(name=name, base_url="U")) == word
