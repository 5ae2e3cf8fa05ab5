"""SMG, the Shepherd Model Gateway: `smg launch`."""

from __future__ import annotations

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import Fleet, command, urls


def configuration(fleet: Fleet) -> Configuration | None:
    if fleet.policy == "smg-prefix-hash":
        tokens, load_factor = fleet.settings["tokens"], fleet.settings["load_factor"]
        note = (
            "it takes a replica for overloaded only with more than --prefix-hash-balance-abs-threshold requests above "
            "the mean, too (10 if left out), which was not replayed"
        )
    elif fleet.policy == "first-blocks" or (fleet.policy == "consistent-hash" and fleet.settings.get("blocks")):
        tokens, load_factor = fleet.settings["blocks"] * fleet.block_tokens, None
        note = "near what was replayed: a hash of as many tokens, but an overloaded replica is passed over"
    else:
        return None
    options: list[tuple[str, object]] = [
        ("--worker-urls", urls(fleet)),
        ("--policy", "prefix_hash"),
        ("--prefix-token-count", tokens),
    ]
    if load_factor is not None:
        options.append(("--prefix-hash-load-factor", load_factor))
    return Configuration(
        software="smg",
        version="main of 2026-11",
        source="https://github.com/lightseekorg/smg (bindings/python/src/smg/router_args.py)",
        language="sh",
        text=command("smg launch", options),
        note=note,
    )
