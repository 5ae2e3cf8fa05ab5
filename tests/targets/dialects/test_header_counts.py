import pytest

from hitrate.core.model import Usage
from hitrate.targets.dialects.header_counts import with_header_counts

CACHED, PROMPT = "fireworks-cached-prompt-tokens", "fireworks-prompt-tokens"


@pytest.mark.parametrize(
    ("usage", "headers", "prompt", "cached", "source"),
    [
        (Usage(), {CACHED: "900", PROMPT: "1000"}, 1000, 900, f"header {CACHED}"),
        (Usage(prompt_tokens=1001), {CACHED: "0"}, 1001, 0, f"header {CACHED}"),
        (Usage(prompt_tokens=1001, cached_tokens=5, cached_source="body"), {CACHED: "9", PROMPT: "8"}, 1001, 5, "body"),
        (Usage(prompt_tokens=10), {CACHED: "many"}, 10, None, "absent"),
        (Usage(prompt_tokens=10), {CACHED: "-1"}, 10, None, "absent"),
        (Usage(prompt_tokens=10), {CACHED: "9" * 30}, 10, None, "absent"),
        (Usage(), {}, None, None, "absent"),
    ],
)
def test_headers_fill_what_the_body_leaves_out(usage, headers, prompt, cached, source):
    found = with_header_counts(usage, headers)
    assert (found.prompt_tokens, found.cached_tokens, found.cached_source) == (prompt, cached, source)
