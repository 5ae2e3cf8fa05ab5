"""Who served a call, by the names that gateways have for providers and by the host a request went to."""

from __future__ import annotations

from urllib.parse import urlsplit

from hitrate.core.lazy_pattern import lazy_pattern

_CALLED = {
    "aws": "bedrock",
    "bedrock_converse": "bedrock",
    "amazon_bedrock": "bedrock",
    "azure_ai": "azure",
    "azure_openai": "azure",
    "azure_text": "azure",
    "fireworks_ai": "fireworks",
    "google": "gemini",
    "google_ai_studio": "gemini",
    "vertex_ai": "gemini",
    "vertex_ai_beta": "gemini",
    "vertex": "gemini",
    "hosted_vllm": "vllm",
    "lm_studio": "lmstudio",
    "moonshotai": "moonshot",
    "ollama_chat": "ollama",
    "text_completion_openai": "openai",
    "together_ai": "together",
    "x": "xai",
    "x_ai": "xai",
    "z_ai": "zai",
}
"""Names of LiteLLM (litellm/types/utils.py, LlmProviders), Helicone (its API's `Provider`) and OpenTelemetry, where
they differ from those used here; hyphens as underscores."""

_NOT_A_SELLER = frozenset({"custom", "custom_openai", "helicone", "local", "openai_like", "litellm_proxy"})
"""Names that stand for any server with OpenAI's wire."""

_HOSTS = (
    ("api.anthropic.com", "anthropic"),
    ("api.cerebras.ai", "cerebras"),
    ("api.cohere.ai", "cohere"),
    ("api.cohere.com", "cohere"),
    ("api.deepinfra.com", "deepinfra"),
    ("api.deepseek.com", "deepseek"),
    ("api.fireworks.ai", "fireworks"),
    ("api.groq.com", "groq"),
    ("api.inference.crusoecloud.com", "crusoe"),
    ("api.minimax.io", "minimax"),
    ("api.mistral.ai", "mistral"),
    ("api.moonshot.ai", "moonshot"),
    ("api.novita.ai", "novita"),
    ("api.openai.com", "openai"),
    ("api.sambanova.ai", "sambanova"),
    ("api.together.xyz", "together"),
    ("api.x.ai", "xai"),
    ("api.z.ai", "zai"),
    ("dashscope-intl.aliyuncs.com", "dashscope"),
    ("dashscope.aliyuncs.com", "dashscope"),
    ("generativelanguage.googleapis.com", "gemini"),
    ("aiplatform.googleapis.com", "gemini"),
    ("inference.baseten.co", "baseten"),
    ("openrouter.ai", "openrouter"),
    ("openai.azure.com", "azure"),
)
"""Hosts, or what they end with. A test holds them against the presets."""

_BEDROCK = lazy_pattern(r"^bedrock-runtime[.-].*amazonaws\.com$")

_WIRES = (
    (lazy_pattern(r"/chat/completions$"), "openai-chat"),
    (lazy_pattern(r"/responses$"), "openai-responses"),
    (lazy_pattern(r"/messages$"), "anthropic-messages"),
    (lazy_pattern(r":(stream)?[gG]enerateContent$"), "gemini-generate"),
    (lazy_pattern(r":(stream)?[rR]awPredict$"), "anthropic-messages"),
    (lazy_pattern(r"/converse(-stream)?$"), "bedrock-converse"),
    (lazy_pattern(r"/invoke(-with-response-stream)?$"), "anthropic-messages"),
    (lazy_pattern(r"/completions?$"), "llamacpp-completion"),
)
"""By the end of a path; the first that fits. Rendered prompts have one wire, whoever serves them."""

_MODEL_IN_PATH = lazy_pattern(r"/models?/([^/:]+(?::\d+)?)(?=[:/][^/]*$)")


def target_of_provider(name: str | None, model: str | None = None) -> str:
    """The target of that name; "" where it names none. Claude on Google's platform is none that is known here."""
    called = (name or "").strip().lower().replace("-", "_")
    if called in _NOT_A_SELLER:
        return ""
    target = _CALLED.get(called, called)
    return "" if target == "gemini" and model is not None and "claude" in model.lower() else target


def target_of_url(url: str) -> str:
    """The target whose host a URL names; "" where it is none that is known."""
    host = _host(url)
    if _BEDROCK.match(host):
        return "bedrock"
    return next((target for end, target in _HOSTS if host == end or host.endswith(("." + end, "-" + end))), "")


def wire_of_url(url: str) -> str | None:
    """The wire format of model calls to this URL or path; None for anything else."""
    path = _path(url).rstrip("/")
    return next((wire for pattern, wire in _WIRES if pattern.search(path)), None)


def model_of_url(url: str) -> str | None:
    """The model that the path names, as on Gemini's and Bedrock's wires."""
    found = _MODEL_IN_PATH.search(_path(url))
    return found[1].replace("%3A", ":").replace("%3a", ":") if found else None


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:  # brackets that are no address
        return ""


def _path(url: str) -> str:
    try:
        return urlsplit(url).path
    except ValueError:
        return ""
