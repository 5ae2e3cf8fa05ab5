"""vllm-router's `cache_aware`: its fork of `sglang_cache_aware`, cut every 120 seconds.

https://github.com/vllm-project/router, src/policies/cache_aware.rs; defaults of vllm-router 0.1.17. Of a chat request
that names a session, vllm-router looks at the session alone; what stands here is what it does with a prompt, and with
a chat that names none.
"""

from __future__ import annotations

from hitrate.sim.policies.sglang_cache_aware import SglangCacheAware


class VllmCacheAware(SglangCacheAware):
    def __init__(
        self,
        *,
        seed: int = 0,
        cache: float = 0.3,
        abs: int = 64,
        rel: float = 1.5,
        evict_s: float = 120,
        max_tree_size: int = 67_108_864,
        characters_per_token: float = 4,
    ) -> None:
        super().__init__(
            cache=cache,
            abs=abs,
            rel=rel,
            evict_s=evict_s,
            max_tree_size=max_tree_size,
            characters_per_token=characters_per_token,
        )


POLICY = VllmCacheAware
