"""Which strings of a request or response are words of the wire format, and which are somebody's content."""

from __future__ import annotations

import re
from typing import Literal

Region = Literal["wire", "kept", "schema", "names", "data"]
"""What the members of an object are: those of a wire format; words and figures kept as they are; those of a JSON
Schema; names chosen by whoever wrote a schema; somebody's data."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEPT = _words("""
    type role object model modelId modelVersion status service_tier serviceTier effort reasoning_effort verbosity
    detail mode format encoding_format modality modalities truncation ttl media_type mimeType mime_type speed
    prompt_cache_retention anthropic_version anthropic_beta betas thinking_level thinkingLevel quant_type
    finish_reason finishReason native_finish_reason stop_reason stopReason stop_type include sort
    tool_choice toolChoice syntax responseMimeType response_mime_type context_management display
    latency performanceConfig
""")
"""Members whose strings are kept, in requests and responses."""

KEPT_OF_RESPONSES = _words("""
    id request_id requestId created system_fingerprint provider provider_name host hostname backend replica replica_id
    instance node pod worker worker_id server_id deployment region zone code object event
""")

KEPT_BELOW = _words("""
    usage usageMetadata timings metrics perf_metrics x_groq cache_control cachePoint prompt_cache_breakpoint
    diagnostics cache_diagnostics prompt_cache_diagnostics incomplete_details thinkingConfig thinking_config
""")
"""Members below which strings that look like words of a protocol are kept."""

KEPT_AT_THE_TOP = _words("reasoning thinking provider")
"""The same where they are members of the body itself; in messages these names hold text."""

SCHEMAS = _words("""
    parameters input_schema inputSchema parametersJsonSchema parameters_json_schema response_schema responseSchema
    responseJsonSchema response_json_schema json_schema jsonSchema schema output_schema
""")

NAMES_FOLLOW = _words("properties $defs definitions patternProperties dependentSchemas")

DATA_OF_SCHEMAS = _words("enum const default examples example")

DATA = _words("args response json arguments variables extra_body partial_args")
"""Members that hold somebody's own objects; so does `input` below the top, and `input` of a tool call."""

SCHEMA_WORDS = _words("type format")

ERRORS = _words("message msg error_message detail innererror")
"""Members of an error whose text the upstream wrote, and which may quote the request."""

IDS = _words("prompt prompt_token_ids token_ids input_ids tokens bytes input logit_bias generated_ids")
"""Members whose lists of whole numbers are token ids or bytes of text."""

PROTOCOL = re.compile(r"[A-Za-z0-9][\w.:/+-]{0,63}")
"""What a string has to look like to be kept."""

NAME = re.compile(r"[A-Za-z_$][\w.$-]{0,63}")
"""What a member's name outside of data has to look like to be kept."""


def below(region: Region, name: str, depth: int) -> Region:
    """The region of the value of a member, `depth` levels of objects down."""
    if region == "data" or region == "kept":
        return region
    if region == "names":
        return "schema"
    if region == "schema":
        if name in NAMES_FOLLOW:
            return "names"
        return "data" if name in DATA_OF_SCHEMAS else "schema"
    if name in SCHEMAS:
        return "schema"
    if name in KEPT_BELOW or (depth == 1 and name in KEPT_AT_THE_TOP):
        return "kept"
    if name in DATA or (name == "input" and depth > 1):
        return "data"
    return "wire"
