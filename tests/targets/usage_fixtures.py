"""Token counts as vendors and engines report them, one row a shape, with the one right answer.

`right` is (total, cached, written for 5 minutes, for 1 hour, written otherwise, output); None is "not reported".
"""

from __future__ import annotations

from typing import Any, NamedTuple

CHAT, RESPONSES, MESSAGES = "openai-chat", "openai-responses", "anthropic-messages"
GEMINI, BEDROCK, LLAMA = "gemini-generate", "bedrock-converse", "llamacpp-completion"

Right = tuple[int | None, int | None, int | None, int | None, int | None, int | None]


class Shape(NamedTuple):
    name: str
    dialect: str
    reply: dict[str, Any] | list[dict[str, Any]]
    """A body, or the events of a stream."""
    right: Right
    source: str


OPENAI_PYTHON = "openai-python, types/completion_usage.py"
RESPONSE_USAGE = "openai-python, types/responses/response_usage.py"
ANTHROPIC_PYTHON = "anthropic-sdk-python, types/usage.py and types/message_delta_usage.py"
GENAI = "python-genai, types.py: GenerateContentResponseUsageMetadata"
BOTOCORE = "botocore, bedrock-runtime 2023-09-30: TokenUsage, CacheDetail"
LLAMA_CPP = "ggml-org/llama.cpp, tools/server/README.md"

CHAT_SHAPES = [
    Shape(
        "openai",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 2006,
                "completion_tokens": 300,
                "total_tokens": 2306,
                "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 128, "audio_tokens": 0},
            }
        },
        (2006, 1920, None, None, None, 300),
        OPENAI_PYTHON,
    ),
    Shape(
        "openai, nothing cached",
        CHAT,
        {"usage": {"prompt_tokens": 900, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 0}}},
        (900, 0, None, None, None, 4),
        OPENAI_PYTHON,
    ),
    Shape(
        "openai, stream",
        CHAT,
        [
            {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}], "usage": None},
            {"choices": [{"index": 0, "delta": {"content": "Hi"}}], "usage": None},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": None},
            {
                "choices": [],
                "usage": {
                    "prompt_tokens": 1500,
                    "completion_tokens": 1,
                    "prompt_tokens_details": {"cached_tokens": 1408},
                },
            },
        ],
        (1500, 1408, None, None, None, 1),
        OPENAI_PYTHON,
    ),
    Shape(
        "openai from GPT-5.6, read and write",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 2006,
                "completion_tokens": 9,
                "prompt_tokens_details": {"cached_tokens": 1500, "cache_write_tokens": 484},
            }
        },
        (2006, 1500, None, None, 484, 9),
        OPENAI_PYTHON,
    ),
    Shape(
        "azure",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 1566,
                "completion_tokens": 1518,
                "total_tokens": 3084,
                "prompt_tokens_details": {"audio_tokens": None, "cached_tokens": 1408},
                "completion_tokens_details": {"audio_tokens": None, "reasoning_tokens": 576},
            }
        },
        (1566, 1408, None, None, None, 1518),
        "https://learn.microsoft.com/azure/ai-services/openai/how-to/prompt-caching",
    ),
    Shape(
        "crusoe, counts as doubles",
        CHAT,
        {"usage": {"prompt_tokens": 12.0, "completion_tokens": 3.0, "prompt_tokens_details": {"cached_tokens": 8.0}}},
        (12, 8, None, None, None, 3),
        "https://docs.crusoecloud.com/serverless-inference/overview/",
    ),
    Shape(
        "fireworks",
        CHAT,
        {"usage": {"prompt_tokens": 3000, "completion_tokens": 20, "prompt_tokens_details": {"cached_tokens": 2944}}},
        (3000, 2944, None, None, None, 20),
        "https://docs.fireworks.ai/guides/prompt-caching",
    ),
    Shape(
        "fireworks, performance metrics in the body",
        CHAT,
        {
            "usage": {"prompt_tokens": 3000, "completion_tokens": 20},
            "perf_metrics": {"prompt-tokens": "3000", "cached-prompt-tokens": "2944"},
        },
        (3000, 2944, None, None, None, 20),
        "fireworks-ai, types/chat/completion_create_response.py",
    ),
    Shape(
        "deepseek",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 2006,
                "completion_tokens": 300,
                "prompt_cache_hit_tokens": 1984,
                "prompt_cache_miss_tokens": 22,
            }
        },
        (2006, 1984, None, None, None, 300),
        "https://api-docs.deepseek.com/guides/kv_cache",
    ),
    Shape(
        "deepseek, hits and misses alone",
        CHAT,
        {"usage": {"completion_tokens": 300, "prompt_cache_hit_tokens": 1984, "prompt_cache_miss_tokens": 22}},
        (2006, 1984, None, None, None, 300),
        "https://api-docs.deepseek.com/guides/kv_cache",
    ),
    Shape(
        "moonshot, top level",
        CHAT,
        {"usage": {"prompt_tokens": 1886, "completion_tokens": 21, "total_tokens": 1907, "cached_tokens": 1792}},
        (1886, 1792, None, None, None, 21),
        "vercel/ai, packages/moonshotai/src/convert-moonshotai-chat-usage.ts",
    ),
    Shape(
        "moonshot, in the last choice of a stream",
        CHAT,
        [
            {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
            {
                "choices": [
                    {
                        "index": 0,
                        "delta": {},
                        "finish_reason": "stop",
                        "usage": {"prompt_tokens": 700, "completion_tokens": 1, "cached_tokens": 512},
                    }
                ]
            },
        ],
        (700, 512, None, None, None, 1),
        "https://platform.moonshot.ai/docs/api/chat",
    ),
    Shape(
        "moonshot K3.1, with a write",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 4000,
                "completion_tokens": 10,
                "prompt_tokens_details": {"cached_tokens": 3000, "cache_write_tokens": 900},
            }
        },
        (4000, 3000, None, None, 900, 10),
        "genai-prices, moonshotai extractor",
    ),
    Shape(
        "mistral, num_cached_tokens beside null details",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 1200,
                "completion_tokens": 8,
                "num_cached_tokens": 1000,
                "prompt_tokens_details": None,
            }
        },
        (1200, 1000, None, None, None, 8),
        "vercel/ai, packages/mistral/src/convert-mistral-usage.ts",
    ),
    Shape(
        "mistral, details in the singular",
        CHAT,
        {"usage": {"prompt_tokens": 1200, "completion_tokens": 8, "prompt_token_details": {"cached_tokens": 1000}}},
        (1200, 1000, None, None, None, 8),
        "vercel/ai, packages/mistral/src/convert-mistral-usage.ts",
    ),
    Shape(
        "dashscope, implicit",
        CHAT,
        {"usage": {"prompt_tokens": 3019, "completion_tokens": 104, "prompt_tokens_details": {"cached_tokens": 2048}}},
        (3019, 2048, None, None, None, 104),
        "https://www.alibabacloud.com/help/en/model-studio/context-cache",
    ),
    Shape(
        "dashscope, explicit: reads and writes inside",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 3019,
                "completion_tokens": 104,
                "prompt_tokens_details": {
                    "cached_tokens": 2000,
                    "cache_creation_input_tokens": 1000,
                    "cache_creation": {"ephemeral_5m_input_tokens": 1000},
                    "cache_type": "ephemeral",
                },
            }
        },
        (3019, 2000, 1000, None, 0, 104),
        "vercel/ai, packages/alibaba/src/convert-alibaba-usage.ts",
    ),
    Shape(
        "z.ai",
        CHAT,
        {"usage": {"prompt_tokens": 1200, "completion_tokens": 300, "prompt_tokens_details": {"cached_tokens": 800}}},
        (1200, 800, None, None, None, 300),
        "https://docs.z.ai/guides/capabilities/cache",
    ),
    Shape(
        "xai, reasoning beside the completion",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 2006,
                "completion_tokens": 100,
                "total_tokens": 2306,
                "prompt_tokens_details": {"cached_tokens": 1920, "text_tokens": 2006},
                "completion_tokens_details": {"reasoning_tokens": 200},
            }
        },
        (2006, 1920, None, None, None, 300),
        "vercel/ai, packages/xai/src/convert-xai-chat-usage.ts",
    ),
    Shape(
        "xai, more cached than prompt tokens, and a total that adds them",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 4142,
                "completion_tokens": 254,
                "total_tokens": 8724,
                "prompt_tokens_details": {"cached_tokens": 4328},
            }
        },
        (8470, 4328, None, None, None, 254),
        "vercel/ai, packages/xai/src/convert-xai-chat-usage.test.ts",
    ),
    Shape(
        "groq",
        CHAT,
        {
            "usage": {
                "queue_time": 0.02,
                "prompt_tokens": 4641,
                "completion_tokens": 1817,
                "total_tokens": 6458,
                "prompt_tokens_details": {"cached_tokens": 4608},
            }
        },
        (4641, 4608, None, None, None, 1817),
        "https://console.groq.com/docs/prompt-caching",
    ),
    Shape(
        "groq, in x_groq of a stream",
        CHAT,
        [
            {"choices": [{"index": 0, "delta": {"content": "Hi"}}], "x_groq": {"id": "req_1"}},
            {
                "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                "x_groq": {
                    "id": "req_1",
                    "usage": {
                        "prompt_tokens": 640,
                        "completion_tokens": 1,
                        "prompt_tokens_details": {"cached_tokens": 512},
                    },
                },
            },
        ],
        (640, 512, None, None, None, 1),
        "groq-python, types/chat/chat_completion_chunk.py",
    ),
    Shape(
        "groq, two memory tiers",
        CHAT,
        {
            "usage": {"prompt_tokens": 2048, "completion_tokens": 5},
            "x_groq": {"usage": {"sram_cached_tokens": 1000, "dram_cached_tokens": 24}},
        },
        (2048, 1024, None, None, None, 5),
        "groq-python, types/chat/chat_completion.py",
    ),
    Shape(
        "together, not reported",
        CHAT,
        {"usage": {"prompt_tokens": 800, "completion_tokens": 9, "total_tokens": 809}},
        (800, None, None, None, None, 9),
        "together-python, types/chat/chat_completion_usage.py",
    ),
    Shape(
        "openrouter, with a write",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 10339,
                "completion_tokens": 60,
                "total_tokens": 10399,
                "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 10318},
                "cost": 0.0657,
            }
        },
        (10339, 0, None, None, 10318, 60),
        "https://openrouter.ai/docs/guides/best-practices/prompt-caching",
    ),
    Shape(
        "openrouter, replayed reply: more cached than prompt tokens",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 194,
                "completion_tokens": 2,
                "total_tokens": 196,
                "prompt_tokens_details": {"cached_tokens": 250},
            }
        },
        (194, 250, None, None, None, 2),
        "openrouter-python, components/chatusage.py",
    ),
    Shape(
        "cerebras",
        CHAT,
        {
            "usage": {"prompt_tokens": 3000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 2816}},
            "time_info": {"prompt_time": 0.01},
        },
        (3000, 2816, None, None, None, 50),
        "https://inference-docs.cerebras.ai/capabilities/prompt-caching",
    ),
    Shape(
        "baseten",
        CHAT,
        {"usage": {"prompt_tokens": 512, "completion_tokens": 6, "prompt_tokens_details": {"cached_tokens": 448}}},
        (512, 448, None, None, None, 6),
        "https://docs.baseten.co/inference/model-apis/pricing-and-limits",
    ),
    Shape(
        "sambanova",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 2100,
                "completion_tokens": 30,
                "time_to_first_token": 0.2,
                "prompt_tokens_details": {"cached_tokens": 2048},
            }
        },
        (2100, 2048, None, None, None, 30),
        "https://docs.sambanova.ai/docs/en/features/prompt-caching",
    ),
    Shape(
        "minimax, chat wire",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 1400,
                "completion_tokens": 12,
                "total_tokens": 1412,
                "prompt_tokens_details": {"cached_tokens": 1024},
            }
        },
        (1400, 1024, None, None, None, 12),
        "https://platform.minimax.io/docs/api-reference/text-prompt-caching",
    ),
    Shape(
        "cloudflare",
        CHAT,
        {"usage": {"prompt_tokens": 900, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 768}}},
        (900, 768, None, None, None, 3),
        "https://developers.cloudflare.com/workers-ai/features/prompt-caching",
    ),
    Shape(
        "vllm, started without --enable-prompt-tokens-details",
        CHAT,
        {"usage": {"prompt_tokens": 900, "completion_tokens": 3, "total_tokens": 903, "prompt_tokens_details": None}},
        (900, None, None, None, None, 3),
        "vllm-project/vllm, entrypoints/openai/chat_completion/serving.py",
    ),
    Shape(
        "vllm, started with it",
        CHAT,
        {
            "usage": {
                "prompt_tokens": 900,
                "completion_tokens": 3,
                "prompt_tokens_details": {"cached_tokens": 640, "created_cache_tokens": 256},
            }
        },
        (900, 640, None, None, 256, 3),
        "vllm-project/vllm, entrypoints/openai/chat_completion/serving.py",
    ),
    Shape(
        "sglang, started without --enable-cache-report",
        CHAT,
        {"usage": {"prompt_tokens": 900, "completion_tokens": 3, "prompt_tokens_details": None, "reasoning_tokens": 0}},
        (900, None, None, None, None, 3),
        "sgl-project/sglang, srt/entrypoints/openai/usage_processor.py",
    ),
    Shape(
        "sglang, three tokens of a Kimi K3 prompt not counted",
        CHAT,
        {"usage": {"prompt_tokens": 1021, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1023}}},
        (1021, 1023, None, None, None, 3),
        "sgl-project/sglang, srt/entrypoints/openai/usage_processor.py",
    ),
    Shape(
        "llama.cpp",
        CHAT,
        {
            "usage": {"prompt_tokens": 1155, "completion_tokens": 14, "prompt_tokens_details": {"cached_tokens": 1122}},
            "timings": {"cache_n": 1122, "prompt_n": 33, "predicted_n": 14},
        },
        (1155, 1122, None, None, None, 14),
        LLAMA_CPP,
    ),
    Shape(
        "llama.cpp, timings alone in the last chunk",
        CHAT,
        [
            {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
            {
                "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
                "timings": {"cache_n": 1122, "prompt_n": 33, "predicted_n": 14},
            },
        ],
        (1155, 1122, None, None, None, 14),
        LLAMA_CPP,
    ),
    Shape(
        "ollama, not reported",
        CHAT,
        {"usage": {"prompt_tokens": 26, "completion_tokens": 8, "total_tokens": 34}},
        (26, None, None, None, None, 8),
        "ollama/ollama, openai/openai.go",
    ),
    Shape(
        "trtllm-serve",
        CHAT,
        {"usage": {"prompt_tokens": 640, "completion_tokens": 8, "prompt_tokens_details": {"cached_tokens": 608}}},
        (640, 608, None, None, None, 8),
        "NVIDIA/TensorRT-LLM, tensorrt_llm/serve/openai_protocol.py",
    ),
    Shape(
        "mlx_lm.server, null in the details",
        CHAT,
        {"usage": {"prompt_tokens": 50, "completion_tokens": 8, "prompt_tokens_details": {"cached_tokens": None}}},
        (50, None, None, None, None, 8),
        "ml-explore/mlx-lm, server.py",
    ),
]

RESPONSES_SHAPES = [
    Shape(
        "openai responses",
        RESPONSES,
        {
            "usage": {
                "input_tokens": 1522,
                "input_tokens_details": {"cached_tokens": 1408},
                "output_tokens": 41,
                "output_tokens_details": {"reasoning_tokens": 7},
                "total_tokens": 1563,
            }
        },
        (1522, 1408, None, None, None, 41),
        RESPONSE_USAGE,
    ),
    Shape(
        "openai responses from GPT-5.6: writes for 30 minutes and 12 hours",
        RESPONSES,
        {
            "usage": {
                "input_tokens": 1809,
                "input_tokens_details": {
                    "cached_tokens": 0,
                    "cache_write_tokens": 1806,
                    "cache_write_tokens_details": {"ttl_30m_tokens": 1000, "ttl_12h_tokens": 806},
                },
                "output_tokens": 38,
                "total_tokens": 1847,
            }
        },
        (1809, 0, None, None, 1806, 38),
        RESPONSE_USAGE,
    ),
    Shape(
        "openai responses, stream",
        RESPONSES,
        [
            {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "usage": None}},
            {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hi"},
            {
                "type": "response.completed",
                "response": {
                    "id": "resp_1",
                    "status": "completed",
                    "output": [],
                    "usage": {
                        "input_tokens": 2000,
                        "input_tokens_details": {"cached_tokens": 1792},
                        "output_tokens": 1,
                    },
                },
            },
        ],
        (2000, 1792, None, None, None, 1),
        RESPONSE_USAGE,
    ),
    Shape(
        "openai responses, stream cut short by its limit",
        RESPONSES,
        [
            {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hi"},
            {
                "type": "response.incomplete",
                "response": {
                    "status": "incomplete",
                    "incomplete_details": {"reason": "max_output_tokens"},
                    "usage": {"input_tokens": 30, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 16},
                },
            },
        ],
        (30, 0, None, None, None, 16),
        RESPONSE_USAGE,
    ),
    Shape(
        "xai responses, more cached than input tokens",
        RESPONSES,
        {"usage": {"input_tokens": 4142, "output_tokens": 254, "input_tokens_details": {"cached_tokens": 4328}}},
        (8470, 4328, None, None, None, 254),
        "vercel/ai, packages/xai/src/responses/convert-xai-responses-usage.test.ts",
    ),
    Shape(
        "xai responses, the same with a total that adds them",
        RESPONSES,
        {
            "usage": {
                "input_tokens": 4142,
                "output_tokens": 254,
                "total_tokens": 8724,
                "input_tokens_details": {"cached_tokens": 4328},
            }
        },
        (8470, 4328, None, None, None, 254),
        "vercel/ai, packages/xai/src/responses/convert-xai-responses-usage.test.ts",
    ),
    Shape(
        "more cached than input tokens, and a total that denies them",
        RESPONSES,
        {
            "usage": {
                "input_tokens": 100,
                "output_tokens": 10,
                "total_tokens": 110,
                "input_tokens_details": {"cached_tokens": 120},
            }
        },
        (100, 120, None, None, None, 10),
        "the rule of xAI's shape, turned round",
    ),
    Shape(
        "vllm responses",
        RESPONSES,
        {
            "usage": {
                "input_tokens": 220,
                "input_tokens_details": {"cached_tokens": 192, "cached_tokens_per_turn": [0, 192]},
                "output_tokens": 10,
                "total_tokens": 230,
            }
        },
        (220, 192, None, None, None, 10),
        "vllm-project/vllm, entrypoints/openai/responses/serving.py",
    ),
    Shape(
        "minimax responses",
        RESPONSES,
        {"usage": {"input_tokens": 1400, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 1024}}},
        (1400, 1024, None, None, None, 3),
        "https://platform.minimax.io/docs/api-reference/text-prompt-caching",
    ),
    Shape(
        "responses without details",
        RESPONSES,
        {"usage": {"input_tokens": 26, "output_tokens": 8, "total_tokens": 34, "input_tokens_details": None}},
        (26, None, None, None, None, 8),
        RESPONSE_USAGE,
    ),
]

MESSAGES_SHAPES = [
    Shape(
        "anthropic",
        MESSAGES,
        {
            "usage": {
                "input_tokens": 5,
                "cache_creation_input_tokens": 8210,
                "cache_read_input_tokens": 17344,
                "cache_creation": {"ephemeral_5m_input_tokens": 8210, "ephemeral_1h_input_tokens": 0},
                "output_tokens": 402,
                "service_tier": "standard",
            }
        },
        (25559, 17344, 8210, 0, 0, 402),
        ANTHROPIC_PYTHON,
    ),
    Shape(
        "anthropic, both lifetimes",
        MESSAGES,
        {
            "usage": {
                "input_tokens": 2048,
                "cache_read_input_tokens": 1800,
                "cache_creation_input_tokens": 248,
                "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
                "output_tokens": 503,
            }
        },
        (4096, 1800, 148, 100, 0, 503),
        ANTHROPIC_PYTHON,
    ),
    Shape(
        "anthropic, without the split by lifetime",
        MESSAGES,
        {
            "usage": {
                "input_tokens": 21,
                "cache_read_input_tokens": 0,
                "cache_creation_input_tokens": 188086,
                "output_tokens": 393,
            }
        },
        (188107, 0, None, None, 188086, 393),
        ANTHROPIC_PYTHON,
    ),
    Shape(
        "anthropic, the split alone",
        MESSAGES,
        {
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 90,
                "cache_creation": {"ephemeral_5m_input_tokens": 30, "ephemeral_1h_input_tokens": 70},
                "output_tokens": 1,
            }
        },
        (200, 90, 30, 70, 0, 1),
        ANTHROPIC_PYTHON,
    ),
    Shape(
        "anthropic, null counters",
        MESSAGES,
        {
            "usage": {
                "input_tokens": 2095,
                "cache_creation_input_tokens": None,
                "cache_read_input_tokens": None,
                "cache_creation": None,
                "output_tokens": 503,
            }
        },
        (2095, None, None, None, None, 503),
        ANTHROPIC_PYTHON,
    ),
    Shape(
        "anthropic, thinking tokens in a breakdown",
        MESSAGES,
        {
            "usage": {
                "input_tokens": 12,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 4096,
                "output_tokens": 900,
                "output_tokens_details": {"thinking_tokens": 700},
            }
        },
        (4108, 4096, None, None, 0, 900),
        ANTHROPIC_PYTHON,
    ),
    Shape(
        "anthropic, stream whose delta repeats the input counters",
        MESSAGES,
        [
            {
                "type": "message_start",
                "message": {
                    "id": "msg_1",
                    "usage": {
                        "input_tokens": 300,
                        "cache_creation_input_tokens": 12,
                        "cache_read_input_tokens": 6000,
                        "output_tokens": 1,
                    },
                },
            },
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {
                    "input_tokens": 300,
                    "cache_creation_input_tokens": 12,
                    "cache_read_input_tokens": 6000,
                    "output_tokens": 55,
                },
            },
            {"type": "message_stop"},
        ],
        (6312, 6000, None, None, 12, 55),
        ANTHROPIC_PYTHON,
    ),
    Shape(
        "anthropic, stream whose deltas grow",
        MESSAGES,
        [
            {
                "type": "message_start",
                "message": {
                    "usage": {
                        "input_tokens": 2679,
                        "cache_read_input_tokens": 0,
                        "cache_creation_input_tokens": 0,
                        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
                        "output_tokens": 3,
                    }
                },
            },
            {"type": "message_delta", "delta": {}, "usage": {"input_tokens": 2679, "output_tokens": 100}},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"input_tokens": 10682, "cache_read_input_tokens": None, "output_tokens": 510},
            },
        ],
        (10682, 0, 0, 0, 0, 510),
        ANTHROPIC_PYTHON,
    ),
    Shape(
        "minimax, messages wire: a stream that opens with zeros",
        MESSAGES,
        [
            {"type": "message_start", "message": {"usage": {"input_tokens": 0, "output_tokens": 0}}},
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {
                    "input_tokens": 108,
                    "output_tokens": 91,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": 14813,
                },
            },
        ],
        (14921, 14813, None, None, 0, 91),
        "https://platform.minimax.io/docs/api-reference/anthropic-api-compatible-cache",
    ),
    Shape(
        "vllm, messages wire: reads alone",
        MESSAGES,
        {"usage": {"input_tokens": 28, "cache_read_input_tokens": 192, "output_tokens": 10}},
        (220, 192, None, None, None, 10),
        "vllm-project/vllm, entrypoints/anthropic/serving.py",
    ),
    Shape(
        "llama.cpp, messages wire",
        MESSAGES,
        {"usage": {"cache_read_input_tokens": 1122, "input_tokens": 33, "output_tokens": 14}},
        (1155, 1122, None, None, None, 14),
        LLAMA_CPP,
    ),
    Shape(
        "sambanova, messages wire: no cache counters",
        MESSAGES,
        {"usage": {"input_tokens": 1200, "output_tokens": 9}},
        (1200, None, None, None, None, 9),
        "sambanova-python, types/message.py",
    ),
    Shape(
        "moonshot, messages wire",
        MESSAGES,
        {"usage": {"input_tokens": 94, "cache_read_input_tokens": 1792, "output_tokens": 21}},
        (1886, 1792, None, None, None, 21),
        "https://platform.moonshot.ai/docs",
    ),
]

GEMINI_SHAPES = [
    Shape(
        "gemini",
        GEMINI,
        {
            "usageMetadata": {
                "promptTokenCount": 181340,
                "cachedContentTokenCount": 176128,
                "candidatesTokenCount": 2210,
                "totalTokenCount": 183550,
                "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 176128}],
            }
        },
        (181340, 176128, None, None, None, 2210),
        GENAI,
    ),
    Shape(
        "gemini, no hit: the field is left out",
        GEMINI,
        {"usageMetadata": {"promptTokenCount": 1200, "candidatesTokenCount": 10, "totalTokenCount": 1210}},
        (1200, None, None, None, None, 10),
        GENAI,
    ),
    Shape(
        "gemini, counts on every chunk, thoughts beside the answer",
        GEMINI,
        [
            {
                "candidates": [{"content": {"role": "model", "parts": [{"text": "Hm", "thought": True}]}}],
                "usageMetadata": {"promptTokenCount": 5000, "cachedContentTokenCount": 4096, "thoughtsTokenCount": 20},
            },
            {
                "candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}, "finishReason": "STOP"}],
                "usageMetadata": {
                    "promptTokenCount": 5000,
                    "cachedContentTokenCount": 4096,
                    "candidatesTokenCount": 3,
                    "thoughtsTokenCount": 57,
                },
            },
        ],
        (5000, 4096, None, None, None, 60),
        GENAI,
    ),
    Shape(
        "gemini, cached tokens null in the last chunk",
        GEMINI,
        [
            {"usageMetadata": {"promptTokenCount": 5000, "cachedContentTokenCount": 4096}},
            {
                "usageMetadata": {
                    "promptTokenCount": 5000,
                    "cachedContentTokenCount": None,
                    "candidatesTokenCount": 3,
                }
            },
        ],
        (5000, 4096, None, None, None, 3),
        GENAI,
    ),
    Shape(
        "gemini, results of tools on the server are input too",
        GEMINI,
        {
            "usageMetadata": {
                "promptTokenCount": 100,
                "toolUsePromptTokenCount": 900,
                "candidatesTokenCount": 30,
                "thoughtsTokenCount": 20,
                "totalTokenCount": 1050,
            }
        },
        (1000, None, None, None, None, 50),
        GENAI,
    ),
    Shape(
        "gemini, ended within its thoughts",
        GEMINI,
        {"usageMetadata": {"promptTokenCount": 100, "cachedContentTokenCount": 0, "thoughtsTokenCount": 64}},
        (100, 0, None, None, None, 64),
        GENAI,
    ),
    Shape(
        "gemini, interactions",
        GEMINI,
        {
            "usage": {
                "total_input_tokens": 6000,
                "total_cached_tokens": 4096,
                "total_output_tokens": 40,
                "total_thought_tokens": 60,
                "total_tokens": 6100,
            }
        },
        (6000, 4096, None, None, None, 100),
        "python-genai, _gaos/types/interactions/usage.py",
    ),
]

BEDROCK_SHAPES = [
    Shape(
        "bedrock",
        BEDROCK,
        {
            "usage": {
                "inputTokens": 17,
                "outputTokens": 60,
                "totalTokens": 4077,
                "cacheReadInputTokens": 3000,
                "cacheWriteInputTokens": 1000,
                "cacheDetails": [{"ttl": "1h", "inputTokens": 600}, {"ttl": "5m", "inputTokens": 400}],
            }
        },
        (4017, 3000, 400, 600, 0, 60),
        BOTOCORE,
    ),
    Shape(
        "bedrock, stream",
        BEDROCK,
        [
            {"messageStart": {"role": "assistant"}},
            {"contentBlockDelta": {"delta": {"text": "Hi"}, "contentBlockIndex": 0}},
            {"messageStop": {"stopReason": "end_turn"}},
            {
                "metadata": {
                    "usage": {
                        "inputTokens": 10,
                        "outputTokens": 2,
                        "totalTokens": 12,
                        "cacheReadInputTokens": 0,
                        "cacheWriteInputTokens": 2044,
                        "cacheDetails": [{"ttl": "5m", "inputTokens": 2044}],
                    },
                    "metrics": {"latencyMs": 812},
                }
            },
        ],
        (2054, 0, 2044, None, 0, 2),
        BOTOCORE,
    ),
    Shape(
        "bedrock, nova: writes without their lifetime",
        BEDROCK,
        {
            "usage": {
                "inputTokens": 12,
                "outputTokens": 4,
                "totalTokens": 16,
                "cacheReadInputTokens": 1500,
                "cacheWriteInputTokens": 0,
                "cacheDetails": [],
            }
        },
        (1512, 1500, None, None, 0, 4),
        BOTOCORE,
    ),
    Shape(
        "bedrock, model without a cache",
        BEDROCK,
        {"usage": {"inputTokens": 300, "outputTokens": 20, "totalTokens": 320}},
        (300, None, None, None, None, 20),
        BOTOCORE,
    ),
]

LLAMA_SHAPES = [
    Shape(
        "llama.cpp completion: tokens_cached is the slot's length",
        LLAMA,
        {
            "content": "Hi",
            "stop": True,
            "tokens_evaluated": 1155,
            "tokens_cached": 1168,
            "tokens_predicted": 14,
            "timings": {"cache_n": 1122, "prompt_n": 33, "predicted_n": 14},
        },
        (1155, 1122, None, None, None, 14),
        LLAMA_CPP,
    ),
    Shape(
        "llama.cpp completion, stream",
        LLAMA,
        [
            {"content": "H", "stop": False, "tokens_predicted": 1, "tokens_evaluated": 1155},
            {"content": "i", "stop": False, "tokens_predicted": 2, "tokens_evaluated": 1155},
            {
                "content": "",
                "stop": True,
                "stop_type": "limit",
                "tokens_evaluated": 1155,
                "tokens_cached": 1156,
                "tokens_predicted": 2,
                "timings": {"cache_n": 0, "prompt_n": 1155, "predicted_n": 2},
            },
        ],
        (1155, 0, None, None, None, 2),
        LLAMA_CPP,
    ),
    Shape(
        "llama.cpp completion of an old server: no cache_n",
        LLAMA,
        {
            "content": "Hi",
            "stop": True,
            "tokens_evaluated": 1155,
            "tokens_cached": 1168,
            "tokens_predicted": 14,
            "timings": {"prompt_n": 33, "predicted_n": 14},
        },
        (1155, None, None, None, None, 14),
        LLAMA_CPP,
    ),
]

SHAPES = CHAT_SHAPES + RESPONSES_SHAPES + MESSAGES_SHAPES + GEMINI_SHAPES + BEDROCK_SHAPES + LLAMA_SHAPES
