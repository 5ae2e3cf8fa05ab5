"""HAProxy in front of the replicas."""

from __future__ import annotations

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import SESSION_HEADER, Fleet

_METHODS = {
    "session-affinity": (f"balance hdr({SESSION_HEADER})", "hash-type consistent"),
    "least-load": ("balance leastconn",),
    "random": ("balance random(1)",),
    "power-of-two": ("balance random(2)",),
    "round-robin": ("balance roundrobin",),
}


def configuration(fleet: Fleet) -> Configuration | None:
    if fleet.policy not in _METHODS:
        return None
    servers = [f"    server replica-{number + 1} replica-{number + 1}:8000 check" for number in range(fleet.replicas)]
    lines = [
        "frontend openai",
        "    mode http",
        "    bind :8080",
        "    timeout client 1h",
        "    default_backend replicas",
        "backend replicas",
        "    mode http",
        "    timeout connect 5s",
        "    timeout server 1h",
        # Nagle's algorithm holds tokens back.
        "    option http-no-delay",
        *(f"    {line}" for line in _METHODS[fleet.policy]),
        *servers,
    ]
    by_session = fleet.policy == "session-affinity"
    return Configuration(
        software="haproxy",
        version="2.6",
        source="https://docs.haproxy.org/2.6/configuration.html",
        language="haproxy",
        text="\n".join(lines),
        note=f"requests without {SESSION_HEADER} go to the replicas in turn" if by_session else "",
    )
