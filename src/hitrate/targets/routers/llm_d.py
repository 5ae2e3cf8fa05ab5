"""llm-d's endpoint picker: the profile it is started with."""

from __future__ import annotations

from hitrate.core.simulation_results import Configuration
from hitrate.targets.routers.interface import Fleet

_SOURCE = "https://github.com/llm-d/llm-d-inference-scheduler (deploy/config, pkg/epp/framework/plugins)"
_ENGINE_BLOCK = 16

_PRECISE = """\
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: token-producer
    parameters:
      modelName: hf-repo/model-name
      vllm:
        http: http://localhost:8000
  - type: endpoint-notification-source
  - type: metrics-data-source
  - type: core-metrics-extractor
  - type: single-profile-handler
  - type: decode-filter
  - type: precise-prefix-cache-scorer
    parameters:
      tokenProcessorConfig:
        blockSize: {block}
  - type: kv-cache-utilization-scorer
  - type: active-request-scorer
  - type: max-score-picker
dataLayer:
  sources:
    - pluginRef: metrics-data-source
      extractors:
        - pluginRef: core-metrics-extractor
    - pluginRef: endpoint-notification-source
      extractors:
        - pluginRef: precise-prefix-cache-scorer
schedulingProfiles:
  - name: default
    plugins:
      - pluginRef: decode-filter
      - pluginRef: precise-prefix-cache-scorer
        weight: {prefix}
      - pluginRef: kv-cache-utilization-scorer
        weight: {kv}
      - pluginRef: active-request-scorer
        weight: {queue}
      - pluginRef: max-score-picker"""

_APPROXIMATE = """\
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
  - type: single-profile-handler
  - type: decode-filter
  - type: approx-prefix-cache-producer
    parameters:
      autoTune: false
      blockSizeTokens: {block}
      maxPrefixBlocksToMatch: {most}
      lruCapacityPerServer: {kept}
  - type: prefix-cache-scorer
  - type: kv-cache-utilization-scorer
  - type: active-request-scorer
  - type: max-score-picker
schedulingProfiles:
  - name: default
    plugins:
      - pluginRef: decode-filter
      - pluginRef: prefix-cache-scorer
        weight: {prefix}
      - pluginRef: kv-cache-utilization-scorer
        weight: {kv}
      - pluginRef: active-request-scorer
        weight: {queue}
      - pluginRef: max-score-picker"""


def configuration(fleet: Fleet) -> Configuration | None:
    settings = fleet.settings
    if fleet.policy not in ("llm-d-precise", "llm-d-approximate"):
        return None
    weights = {name: float(settings[name]) for name in ("prefix", "kv", "queue")}
    if fleet.policy == "llm-d-precise":
        text = _PRECISE.format(block=_ENGINE_BLOCK, **weights)
        note = (
            f"engines have to publish their KV events and to run with --block-size {_ENGINE_BLOCK}, the same as "
            "blockSize; modelName is theirs"
        )
    else:
        text = _APPROXIMATE.format(
            block=settings["block_tokens"], most=settings["blocks"], kept=settings["lru_blocks"], **weights
        )
        note = "it takes 4 characters for a token, and looks at messages alone: tools are not in its hash"
    return Configuration(
        software="llm-d-inference-scheduler",
        version="520af47 (2026-05)",
        source=_SOURCE,
        language="yaml",
        text=text,
        note=note,
    )
