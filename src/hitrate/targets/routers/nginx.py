"""nginx in front of the replicas: a hash of the session's header, or no look at prompts at all."""

from __future__ import annotations

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import SESSION_HEADER, Fleet

_METHODS = {
    "session-affinity": f"hash $http_{SESSION_HEADER.replace('-', '_')} consistent;",
    "least-load": "least_conn;",
    "random": "random;",
    "power-of-two": "random two least_conn;",
    "round-robin": "",
}


def configuration(fleet: Fleet) -> Configuration | None:
    if fleet.policy not in _METHODS:
        return None
    method = _METHODS[fleet.policy]
    servers = [f"    server replica-{number + 1}:8000;" for number in range(fleet.replicas)]
    lines = ["upstream replicas {", *([f"    {method}"] if method else []), *servers, "    keepalive 64;", "}"]
    # Without buffering tokens are passed on as they come.
    lines += [
        "server {",
        "    listen 8080;",
        "    location / {",
        "        proxy_pass http://replicas;",
        "        proxy_http_version 1.1;",
        '        proxy_set_header Connection "";',
        "        proxy_buffering off;",
        "        proxy_read_timeout 1h;",
        "    }",
        "}",
    ]
    by_session = fleet.policy == "session-affinity"
    return Configuration(
        software="nginx",
        version="1.15.1 and later",
        source="https://nginx.org/en/docs/http/ngx_http_upstream_module.html",
        language="nginx",
        text="\n".join(lines),
        note=f"requests without {SESSION_HEADER} go to the replicas in turn" if by_session else "",
    )
