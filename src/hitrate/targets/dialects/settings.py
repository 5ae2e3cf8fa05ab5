"""Which members of a request, beside the prompt, separate cache entries, and which have nothing to do with them.

Members that separate: the model and its adapter, salts, everything that the chat template or the vendor renders into
the prompt (effort, thinking, template arguments), and lifetimes. OpenAI's own list of reasons for a miss names model,
reasoning effort, verbosity and service tier (openai-python, types/responses, prompt_cache_diagnostics); Anthropic's
table of what invalidates names tool_choice, thinking, speed and betas
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching); vLLM's block hash takes the adapter, the salt
and the processor's arguments (vllm, v1/core/kv_cache_utils.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hitrate.core.prompt import Setting
from hitrate.core.spans import compact, escape_pointer
from hitrate.targets.dialects.prompt_builder import digest

LONGEST_VALUE = 512
"""Characters of a setting's value that are kept; a longer one stands as its SHA-256."""

_DEEPEST = 4
"""Levels of objects that are taken apart into settings of their own."""

_MOST_LISTED = 16
"""Objects of a list (adapters, say) that are looked at one by one."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PROMPT = _words("""
    messages tools functions system instructions input contents prompt prompt_token_ids
    systemInstruction system_instruction cache_control prompt_cache_breakpoint
""")
"""Top-level members that are the prompt or mark places in it."""

_SCHEMAS = _words("""
    /response_format/json_schema /text/format /output_config/format /output_format /toolConfig/tools /tool_config/tools
    /outputConfig/textFormat
    /generationConfig/responseSchema /generationConfig/responseJsonSchema /generationConfig/_responseJsonSchema
    /generation_config/response_schema /generation_config/response_json_schema
    /generation_config/_response_json_schema
""")
"""Members below the top level that are prompt text where they hold a schema or tools."""

_KEY = _words("""
    model modelId cache_salt extra_key prompt_cache_isolation_key
    reasoning reasoning_effort reasoning_history reasoning_budget thinking thinking_budget enable_thinking
    output_config speed lora lora_request lora_name lora_path lora_id adapter adapters adapter_id adapter_name
    adapter_source chat_template chat_template_kwargs mm_processor_kwargs cachedContent cached_content
    response_format safe_prompt documents verbosity betas anthropic_beta promptVariables prompt_cache_retention
    add_generation_prompt continue_final_message add_special_tokens
""")
"""Top-level members that separate cache entries, with all that is below them."""

_KEY_BELOW = _words("""
    /text/verbosity /text/format/type /prompt_cache_options/mode /prompt_cache_options/ttl
    /generationConfig/thinkingConfig /generation_config/thinking_config
    /generationConfig/responseMimeType /generation_config/response_mime_type
    /additionalModelRequestFields/thinking /additionalModelRequestFields/reasoning_config
    /additionalModelRequestFields/reasoningConfig /additionalModelRequestFields/reasoning_effort
    /additionalModelRequestFields/anthropic_beta /additionalModelRequestFields/output_config
    /additionalModelRequestFields/speed
    /extra_body/chat_template_kwargs /extra_body/cache_salt
""")

_KEY_OF = {
    "anthropic-messages": _words("/tool_choice"),
    "bedrock-converse": _words("/toolConfig/toolChoice"),
    "openai-chat": _words("/service_tier"),
    "openai-responses": _words("/service_tier /prompt"),
}
"""Members that separate cache entries on one wire only. A stored prompt of the Responses wire stands in `prompt`."""

NEUTRAL = _words("""
    temperature top_p topP top_k topK top_a min_p typical_p tfs_z max_tokens max_completion_tokens max_output_tokens
    maxOutputTokens maxTokens max_new_tokens min_tokens n_predict max_tool_calls n best_of seed stop stop_sequences
    stopSequences stop_token_ids include_stop_str_in_output ignore_eos stream stream_options incremental_output
    user metadata store include prompt_cache_key safety_identifier session_id conversation_id request_id rid trace
    trace_id id previous_response_id conversation diagnostics background
    logprobs top_logprobs prompt_logprobs logit_bias n_probs min_keep presence_penalty frequency_penalty
    repetition_penalty repeat_penalty repeat_last_n penalize_nl dry_multiplier dry_base dry_allowed_length
    dry_penalty_last_n dry_sequence_breakers xtc_probability xtc_threshold mirostat mirostat_tau mirostat_eta
    dynatemp_range dynatemp_exponent samplers tfs grammar json_schema guided_json guided_regex guided_choice
    guided_grammar priority timeout timeout_ms t_max_predict_ms t_max_prompt_ms prediction
    return_tokens return_token_ids timings_per_token post_sampling_probs response_fields return_progress id_slot
    cache_control_ttl anthropic_version inferenceConfig requestMetadata additionalModelResponseFieldPaths
    safetySettings safety_settings labels include_usage usage user_id custom_id end_user extra_headers
""")
"""Top-level members that no cache looks at: sampling, limits, streaming, ids, and what routes to a cache."""

_NEUTRAL_BELOW = _words("""
    /reasoning/summary /reasoning/generate_summary /reasoning/exclude /thinking/display /include_reasoning
    /prompt_cache_options/comparison_response_id /prompt_cache_options/prewarm
""")

_NEUTRAL_OF = {
    "openai-chat": _words("/tool_choice"),
    "openai-responses": _words("/tool_choice"),
}
"""OpenAI gives `tool_choice` with `allowed_tools` as the way to offer other tools without a miss."""

_SAMPLING_OBJECTS = ("generationConfig", "generation_config")
"""Objects whose members count as if they stood at the top level, where nothing else is said of them."""

_KEY_HEADERS = ("anthropic-beta",)
_KEY_HEADER_WORDS = ("lora", "adapter")


def settings_of(body: Mapping[str, Any], dialect: str) -> tuple[tuple[Setting, ...], tuple[Setting, ...]]:
    """Settings of a request that separate cache entries, and those of which that is not known, each by pointer.

    A member that is null counts as absent. Objects are taken apart, so that a setting is the innermost member.
    """
    key: list[Setting] = []
    others: list[Setting] = []
    for pointer, value in _leaves(body, "", dialect):
        kind = _kind(pointer, dialect)
        if kind != "neutral":
            (key if kind == "key" else others).append(Setting(pointer, _value(value)))
    return tuple(sorted(key, key=_pointer)), tuple(sorted(others, key=_pointer))


def header_settings(headers: Mapping[str, str]) -> tuple[Setting, ...]:
    """Headers that separate cache entries. Names are in lower case, as a `Call` holds them."""
    return tuple(
        Setting(f"{name}:", compact(value))
        for name, value in sorted(headers.items())
        if name in _KEY_HEADERS or any(word in name for word in _KEY_HEADER_WORDS)
    )


def _pointer(setting: Setting) -> str:
    return setting.pointer


def _leaves(value: Mapping[str, Any], pointer: str, dialect: str) -> Iterator[tuple[str, Any]]:
    for name, member in value.items():
        place = f"{pointer}/{escape_pointer(name)}"
        if member is None or _is_prompt(place, name, member, dialect):
            continue
        if isinstance(member, dict) and member and place.count("/") <= _DEEPEST:
            yield from _leaves(member, place, dialect)
        elif (
            isinstance(member, list)
            and 0 < len(member) <= _MOST_LISTED
            and all(isinstance(one, dict) for one in member)
        ):
            for number, one in enumerate(member):
                yield from _leaves(one, f"{place}/{number}", dialect)
        else:
            yield place, member


def _is_prompt(pointer: str, name: str, value: Any, dialect: str) -> bool:
    if pointer == f"/{name}":
        # A stored prompt is named by id and variables on the Responses wire.
        return name in _PROMPT and not (name == "prompt" and isinstance(value, dict) and dialect == "openai-responses")
    if pointer not in _SCHEMAS:
        return pointer == "/response_format/type" and value == "json_schema"
    return not (isinstance(value, dict) and pointer == "/text/format" and "schema" not in value)


def _kind(pointer: str, dialect: str) -> str:
    """ "key", "neutral" or "other"; the innermost rule that names the pointer or one above it decides."""
    tokens = pointer.split("/")
    for depth in range(len(tokens), 1, -1):
        place = "/".join(tokens[:depth])
        if place in _KEY_BELOW or place in _KEY_OF.get(dialect, ()):
            return "key"
        if place in _NEUTRAL_BELOW or place in _NEUTRAL_OF.get(dialect, ()):
            return "neutral"
    name = tokens[2] if tokens[1] in _SAMPLING_OBJECTS and len(tokens) > 2 else tokens[1]
    if name in _KEY:
        return "key"
    return "neutral" if name in NEUTRAL else "other"


def _value(value: Any) -> str:
    text = compact(value)
    return text if len(text) <= LONGEST_VALUE else digest(text)
