"""The router of vLLM's production stack, in Python: its command is called `vllm-router`, as that of another project."""

from __future__ import annotations

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import SESSION_HEADER, Fleet, command

_POLICIES = {"session-affinity": "session", "round-robin": "roundrobin"}


def configuration(fleet: Fleet) -> Configuration | None:
    if fleet.policy not in _POLICIES:
        return None
    by_session = fleet.policy == "session-affinity"
    backends = ",".join(f"http://replica-{number + 1}:8000" for number in range(fleet.replicas))
    options: list[tuple[str, object]] = [
        ("--service-discovery", "static"),
        ("--static-backends", backends),
        ("--static-models", ",".join(["model-name"] * fleet.replicas)),
        ("--routing-logic", _POLICIES[fleet.policy]),
    ]
    if by_session:
        options.append(("--session-key", SESSION_HEADER))
    return Configuration(
        software="production-stack",
        version="a6c01db (2026-08)",
        source="https://github.com/vllm-project/production-stack (src/vllm_router/parsers/parser.py)",
        language="sh",
        text=command("vllm-router", options),
        note=f"requests without {SESSION_HEADER} go to the replica with the fewest a second" if by_session else "",
    )
