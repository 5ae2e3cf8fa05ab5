"""Configurations of routers and engines: the settings that were replayed, in their own options' names."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from hitrate.sim.policies.registry import policy_names, settings_of
from hitrate.targets.routers import router_configurations, why_none
from hitrate.targets.routers.engines import engine_configurations
from hitrate.targets.routers.interface import Fleet, StepLimits


def fleet(written: str, **more: Any) -> Fleet:
    policy, settings = settings_of(written)
    made: dict[str, Any] = {
        "replicas": 4,
        "policy": policy,
        "written": written,
        "settings": settings,
        "block_tokens": 512,
        "capacity_tokens": 3_000_000,
        "capacity_bytes": None,
        "gpus_per_replica": 1,
    }
    return Fleet(**{**made, **more})


def text(written: str, software: str) -> str:
    (found,) = [one.text for one in router_configurations(fleet(written)) if one.software == software]
    return found


def options(command: str) -> dict[str, str]:
    words = shlex.split(command.replace("\\\n", " "))
    starts = [place for place, word in enumerate(words) if word.startswith("--")]
    return {
        words[place]: " ".join(words[place + 1 : end]) for place, end in zip(starts, [*starts[1:], None], strict=True)
    }


@pytest.mark.parametrize(
    ("written", "software", "expected"),
    [
        (
            "sglang-cache-aware:abs=32,rel=1.1",
            "sglang-router",
            {
                "--worker-urls": "http://replica-{1..4}:8000",
                "--policy": "cache_aware",
                "--cache-threshold": "0.3",
                "--balance-abs-threshold": "32",
                "--balance-rel-threshold": "1.1",
                "--eviction-interval-secs": "60",
                "--max-tree-size": "67108864",
            },
        ),
        (
            "vllm-cache-aware:evict_s=30",
            "vllm-router",
            {
                "--worker-urls": "http://replica-{1..4}:8000",
                "--policy": "cache_aware",
                "--cache-threshold": "0.3",
                "--balance-abs-threshold": "64",
                "--balance-rel-threshold": "1.5",
                "--eviction-interval-secs": "30",
                "--max-tree-size": "33554432",
            },
        ),
        (
            "session-affinity",
            "vllm-router",
            {"--worker-urls": "http://replica-{1..4}:8000", "--policy": "consistent_hash"},
        ),
        (
            "smg-prefix-hash:tokens=1024,load_factor=2",
            "smg",
            {
                "--worker-urls": "http://replica-{1..4}:8000",
                "--policy": "prefix_hash",
                "--prefix-token-count": "1024",
                "--prefix-hash-load-factor": "2",
            },
        ),
        (
            "first-blocks:blocks=3",
            "smg",
            {
                "--worker-urls": "http://replica-{1..4}:8000",
                "--policy": "prefix_hash",
                "--prefix-token-count": "1536",
            },
        ),
        (
            "dynamo-kv:overlap_score_credit=0.5",
            "dynamo",
            {
                "--router-mode": "kv",
                "--router-kv-overlap-score-credit": "0.5",
                "--router-prefill-load-scale": "1",
                "--router-temperature": "0",
            },
        ),
        (
            "session-affinity",
            "production-stack",
            {
                "--service-discovery": "static",
                "--static-backends": ",".join(f"http://replica-{number}:8000" for number in (1, 2, 3, 4)),
                "--static-models": "model-name,model-name,model-name,model-name",
                "--routing-logic": "session",
                "--session-key": "x-session-id",
            },
        ),
    ],
)
def test_commands(written: str, software: str, expected: dict[str, str]) -> None:
    assert options(text(written, software)) == expected


@pytest.mark.parametrize(
    ("written", "software", "lines"),
    [
        ("llm-d-precise:prefix=3", "llm-d-inference-scheduler", ["precise-prefix-cache-scorer\n        weight: 3.0"]),
        (
            "llm-d-approximate:blocks=128,lru_blocks=1000",
            "llm-d-inference-scheduler",
            ["maxPrefixBlocksToMatch: 128", "lruCapacityPerServer: 1000", "blockSizeTokens: 16", "autoTune: false"],
        ),
        ("ray-prefix-aware", "ray", ['"imbalanced_threshold": float("inf"),', '"match_rate_threshold": 0.1,']),
        ("ray-prefix-aware:imbalanced_threshold=10", "ray", ['"imbalanced_threshold": 10,', '"max_replicas": 4']),
        ("aibrix-prefix-cache:min_gap=16", "aibrix", ["IMBALANCE_ABS_COUNT=16", "DEVIATION_FACTOR=1\n"]),
        ("session-affinity", "nginx", ["    hash $http_x_session_id consistent;", "    server replica-4:8000;"]),
        ("power-of-two", "nginx", ["    random two least_conn;"]),
        ("session-affinity", "haproxy", ["    balance hdr(x-session-id)\n    hash-type consistent"]),
        ("least-load", "haproxy", ["    balance leastconn"]),
    ],
)
def test_files(written: str, software: str, lines: list[str]) -> None:
    found = text(written, software)

    assert [line for line in lines if line not in found] == []


@pytest.mark.parametrize("name", policy_names())
def test_every_policy_has_a_router_or_a_reason(name: str) -> None:
    made = fleet(name)
    found = router_configurations(made)

    assert found or why_none(made)
    assert all(one.version and one.source.startswith("https://") and one.text for one in found)
    has_none = {"cache-aware", "fewest-new-tokens"}
    assert (not found) == (name in has_none)
    assert "no router is known" not in why_none(made) or found


def test_a_hash_of_the_first_blocks_is_no_policy_of_vllm_router() -> None:
    software = [one.software for one in router_configurations(fleet("consistent-hash:blocks=2"))]

    assert software == ["smg"]


def test_what_a_router_cannot_do_is_said() -> None:
    notes = {one.software: one.note for one in router_configurations(fleet("sglang-cache-aware:below=smallest-tree"))}

    assert "no way to choose the smallest tree" in notes["sglang-router"]


def test_python_of_a_configuration_compiles() -> None:
    compile(text("ray-prefix-aware", "ray"), "app.py", "exec")


@pytest.mark.parametrize(
    ("rule", "more", "expected"),
    [
        ("vllm", {}, {"--block-size": "16", "--num-gpu-blocks-override": "187500"}),
        ("vllm-2026-11", {"capacity_bytes": 1 << 36}, {"--block-size": "16", "--kv-cache-memory-bytes": str(1 << 36)}),
        (
            "vllm",
            {"capacity_bytes": 1 << 36, "gpus_per_replica": 2},
            {"--block-size": "16", "--tensor-parallel-size": "2", "--kv-cache-memory-bytes": str(1 << 35)},
        ),
        ("leaf-lru", {}, {"--model-path": "MODEL", "--max-total-tokens": "3000000"}),
    ],
)
def test_memory_of_engines(rule: str, more: dict[str, int], expected: dict[str, str]) -> None:
    (found,) = engine_configurations(fleet("random", **more), rule)

    assert options(found.text) == expected


STEPS = StepLimits(max_running_requests=128, max_batched_tokens=2048)
OTHER_STEPS = StepLimits(max_running_requests=8, max_batched_tokens=9000, chunked_prefill=False, scheduled_ahead=False)


@pytest.mark.parametrize(
    ("rule", "steps", "expected"),
    [
        ("vllm", STEPS, {"--max-num-seqs": "128", "--max-num-batched-tokens": "2048"}),
        (
            "vllm",
            OTHER_STEPS,
            {
                "--max-num-seqs": "8",
                "--max-num-batched-tokens": "9000",
                "--no-enable-chunked-prefill": "",
                "--no-async-scheduling": "",
            },
        ),
        (
            "leaf-lru",
            STEPS,
            {"--max-running-requests": "128", "--chunked-prefill-size": "2048", "--enable-mixed-chunk": ""},
        ),
        (
            "leaf-lru",
            OTHER_STEPS,
            {
                "--max-running-requests": "8",
                "--chunked-prefill-size": "-1",
                "--max-prefill-tokens": "9000",
                "--disable-overlap-schedule": "",
            },
        ),
    ],
)
def test_limits_of_a_step_that_were_replayed(rule: str, steps: StepLimits, expected: dict[str, str]) -> None:
    (without,) = engine_configurations(fleet("random"), rule)
    (found,) = engine_configurations(fleet("random", steps=steps), rule)

    assert options(found.text) == options(without.text) | expected


@pytest.mark.parametrize(
    ("rule", "block_tokens", "said"),
    [
        ("vllm", 512, "replayed in blocks of 512, the engine's are of 16: it shares a little more"),
        ("vllm", 8, "replayed in blocks of 8, the engine's are of 16: it shares a little less"),
        ("vllm", 16, None),
        ("leaf-lru", 512, "replayed in blocks of 512, the engine's are of 1: it shares a little more"),
        ("leaf-lru", 1, None),
    ],
)
def test_blocks_of_another_size_than_the_engines_are_said(rule: str, block_tokens: int, said: str | None) -> None:
    (found,) = engine_configurations(fleet("random", block_tokens=block_tokens), rule)

    assert [part for part in found.note.split("; ") if part.startswith("replayed in")] == ([said] if said else [])


def test_no_flags_for_memory_without_a_limit_or_rules_of_vendors() -> None:
    assert engine_configurations(fleet("random", capacity_tokens=None), "vllm") == ()
    assert engine_configurations(fleet("random"), "openai-chat-before-gpt-5.6") == ()
