"""Ray Serve LLM with its prefix-aware request router."""

from __future__ import annotations

from math import isinf

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import Fleet

_APP = """\
from ray import serve
from ray.serve.llm import LLMConfig, build_openai_app
from ray.serve.llm.request_router import PrefixCacheAffinityRouter

config = LLMConfig(
    model_loading_config={{"model_id": "model-name", "model_source": "hf-repo/model-name"}},
    deployment_config={{
        "autoscaling_config": {{"min_replicas": {replicas}, "max_replicas": {replicas}}},
        "request_router_config": {{
            "request_router_class": PrefixCacheAffinityRouter,
            "request_router_kwargs": {{
                "imbalanced_threshold": {apart},
                "match_rate_threshold": {match_rate:g},
            }},
        }},
    }},
)
serve.run(build_openai_app({{"llm_configs": [config]}}))"""


def configuration(fleet: Fleet) -> Configuration | None:
    if fleet.policy != "ray-prefix-aware":
        return None
    apart = float(fleet.settings["imbalanced_threshold"])
    return Configuration(
        software="ray",
        version="2.49 and later (alpha)",
        source="https://docs.ray.io/en/latest/serve/llm/prefix-aware-request-router.html",
        language="python",
        text=_APP.format(
            replicas=fleet.replicas,
            apart='float("inf")' if isinf(apart) else f"{apart:g}",
            match_rate=float(fleet.settings["match_rate_threshold"]),
        ),
        note=(
            "the documentation names 10 as the default of imbalanced_threshold, the code has infinity; entries of its "
            "tree are never dropped unless do_eviction is set"
        ),
    )
