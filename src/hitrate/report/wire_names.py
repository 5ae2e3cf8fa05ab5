"""Names in a JSON pointer that say nothing about whose request it is: of the wire formats and of JSON Schema."""

from __future__ import annotations

WIRE_NAMES = frozenset({
    "messages", "content", "role", "name", "text", "type", "system", "tools", "tool_choice", "function",
    "functions", "parameters", "description", "strict", "input_schema", "inputSchema", "toolSpec", "toolConfig",
    "tool", "json", "input", "instructions", "prompt", "prompt_template", "suffix", "model", "tool_calls",
    "tool_call_id", "tool_use_id", "toolUse", "toolResult", "toolUseId", "id", "arguments", "call_id", "output",
    "status", "cache_control", "cachePoint", "ttl", "thinking", "signature", "reasoning", "reasoning_content",
    "reasoning_details", "reasoning_effort", "effort", "summary", "encrypted_content", "image", "image_url",
    "url", "source", "data", "media_type", "format", "bytes", "detail", "refusal", "contents", "parts",
    "systemInstruction", "system_instruction", "functionDeclarations", "function_declarations", "functionCall",
    "function_call", "functionResponse", "function_response", "inlineData", "inline_data", "fileData",
    "mimeType", "thought", "thoughtSignature", "generationConfig", "generation_config", "thinkingConfig",
    "thinkingBudget", "response_format", "responseSchema", "responseJsonSchema", "json_schema", "schema",
    "text_format", "additionalModelRequestFields", "messages_template", "chat_template", "chat_template_kwargs",
    "add_generation_prompt", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options",
    "previous_response_id", "cached_content", "cachedContent", "cache_salt", "lora", "adapter", "adapter_id",
    "service_tier", "metadata", "user", "session_id", "context_management", "mcp_servers", "betas",
    "anthropic_beta", "temperature", "top_p", "top_k", "max_tokens", "max_output_tokens",
    "max_completion_tokens", "stop", "stop_sequences", "seed", "stream", "n_predict", "cache_prompt", "id_slot",
    "prompt_token_ids", "token_ids", "tokens", "extra_body", "provider", "order", "verbosity", "budget_tokens",
    "properties", "required", "enum", "items", "additionalProperties", "anyOf", "oneOf", "allOf", "not", "$ref",
    "$defs", "definitions", "default", "examples", "title", "const", "minimum", "maximum", "minLength",
    "maxLength", "pattern", "patternProperties", "prefixItems",
})  # fmt: skip
"""Members of the request formats and of JSON Schema: public words, not somebody's data."""

NAMES_FOLLOW = frozenset({
    "$defs", "definitions", "dependentSchemas", "patternProperties", "properties",
})  # fmt: skip
"""Members whose own members are named by whoever wrote the schema."""

DATA_FOLLOWS = frozenset({
    "additionalModelRequestFields", "args", "arguments", "chat_template_kwargs", "const", "default", "enum",
    "examples", "extra_body", "metadata", "response",
})  # fmt: skip
"""Members below which everything is somebody's data."""

LISTS = frozenset({
    "messages", "content", "system", "tools", "tool_calls", "input", "contents", "parts",
    "functionDeclarations", "function_declarations", "prompt", "summary", "reasoning_details", "anyOf", "oneOf",
    "allOf", "prefixItems", "required", "functions", "prompt_token_ids", "token_ids", "tokens", "output",
    "mcp_servers", "betas",
})  # fmt: skip
"""Members whose numbers are positions."""

HEADERS = frozenset({
    "anthropic-beta", "anthropic-version", "openai-beta", "session_id", "x-session-affinity",
})  # fmt: skip
"""Request headers whose names are public, in small letters."""
