"""Public traces, each either read or refused for a reason. They are not in the repository: HITRATE_TRACES names the
folder, and small files of the same shapes stand in the tests of the formats."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from hitrate.errors import HitrateError
from hitrate.explaining import explain_log
from hitrate.logs.sniff import open_log
from hitrate.targets.dialects.by_shape import read_reply

TRACES = os.environ.get("HITRATE_TRACES", "")

pytestmark = pytest.mark.skipif(not TRACES, reason="HITRATE_TRACES is not set")

READ = {
    "agent_usage/claude_code_fe5e1c67.jsonl.gz": ("claude-code", 170),
    "agent_usage/pi_before-compaction.jsonl.gz": ("pi", 484),
    "lmbenchmark_sharegpt_run.json.gz": ("rendered", 252),
    "lmcache_agent/magagent.jsonl.gz": ("rendered", 392),
    "lmcache_agent/miniswe.jsonl.gz": ("rendered", 206),
    "otel/code_review_workflow.json": ("otel", 15),
    "otel/fan_in_dependencies.json": ("otel", 4),
    "otel/parallel_requests.json": ("otel", 5),
    "otel/simple_chain_alt.json": ("otel", 3),
    "otel/software_architecture_review.json": ("otel", 15),
    "tau_bench_gpt4o_airline.jsonl.gz": ("tau-bench", 1163),
    "vllm_measured/sharegpt-llama-3.1-8b-300-sps10.jsonl.gz": ("token-ids", 300),
}

REFUSED = {
    "azure_llm_2023_conv.csv.gz": "a table of token counts (TIMESTAMP, ContextTokens, GeneratedTokens)",
    "claude_code_weka/sessions_0.jsonl.gz": "this trace has hashes of prompt blocks by session",
    "claude_code_weka/sessions_1.jsonl.gz": "this trace has hashes of prompt blocks by session",
    "lmcache_agent/taubench.jsonl.gz": "`input` is the newest message and not the prompt",
    "mooncake_conversation.jsonl.gz": "this trace has hashes of prompt blocks",
    "ragpulse/0_trace.jsonl.gz": "this trace has ids of the parts of a RAG prompt",
    "ragpulse/1_sys_prompt.jsonl.gz": "this file has the lengths of the parts of a trace",
    "ragpulse/expected_kvcache_blog_half.json": "a JSON document with source, columns",
    "vllm_measured/RTXPRO6000_Llama-3.1-8B/meta.json": "a JSON document with schema_version, model",
    "vllm_measured/RTXPRO6000_Llama-3.1-8B/requests.jsonl": "this file has lengths and times of requests",
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read(name):
    log = open_log(f"{TRACES}/{name}", read_reply)
    assert (sum(1 for _ in log), log.records().damaged) == (READ[name][1], 0)
    assert log.format == READ[name][0]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    with pytest.raises(HitrateError) as caught:
        open_log(f"{TRACES}/{name}", read_reply)
    assert REFUSED[name] in caught.value.message


def test_every_trajectory_of_an_agent_is_read():
    files = sorted(Path(TRACES, "swe_agent").glob("*.traj.gz"))
    assert files
    for file in files:
        log = open_log(str(file), read_reply)
        assert log.format == "swe-agent"
        assert (sum(1 for _ in log) > 3, log.records().damaged) == (True, 0), file.name


@pytest.mark.parametrize(
    "name", ["tau_bench_gpt4o_airline.jsonl.gz", "lmbenchmark_sharegpt_run.json.gz", "otel/simple_chain_alt.json"]
)
def test_conversations_that_only_grow_have_no_break(name):
    report = explain_log(open_log(f"{TRACES}/{name}", read_reply))
    assert report.findings == ()
    assert report.records.damaged == report.records.left_out == 0


def test_where_an_agent_leaves_old_output_out():
    (file,) = Path(TRACES, "swe_agent").glob("*function_calling_replace_from_source*")
    report = explain_log(open_log(str(file), read_reply))
    assert Counter(finding.cause for finding in report.findings)["tool-output-pruned"] == 1
    assert report.findings[0].pointer == "/messages/3/content"
