"""NVIDIA Dynamo's frontend with its KV router."""

from __future__ import annotations

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import Fleet, command


def configuration(fleet: Fleet) -> Configuration | None:
    if fleet.policy != "dynamo-kv":
        return None
    return Configuration(
        software="dynamo",
        version="1.3",
        source="https://docs.nvidia.com/dynamo/v1.3.0/components/router/configuration-and-tuning.md",
        language="sh",
        text=command(
            "python -m dynamo.frontend",
            [
                ("--router-mode", "kv"),
                ("--router-kv-overlap-score-credit", float(fleet.settings["overlap_score_credit"])),
                ("--router-prefill-load-scale", float(fleet.settings["prefill_load_scale"])),
                ("--router-temperature", 0),
            ],
        ),
        note=(
            "workers find it by themselves, and have to publish their KV events; of equal costs it draws anew in every "
            "run, where the replay draws by its seed"
        ),
    )
