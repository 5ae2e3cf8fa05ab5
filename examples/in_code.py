"""A program that records its own calls: an agent with a clock in front of its prompt, against a practice server.

python examples/in_code.py    # needs the package openai; sends nothing over the network
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from openai import OpenAI

import hitrate.record
from hitrate.serve.child import PracticeServer

RULES = "You are a support agent of a shop for bicycles and their parts. " * 300


def main() -> None:
    store = Path(tempfile.mkdtemp()) / "runs.sqlite3"
    with PracticeServer(["--as", "openai"]) as server, hitrate.record.recording(store) as recording:
        client = hitrate.record.openai(OpenAI(base_url=server.base_url, api_key="practice"))
        for second, question in enumerate(["Do you have tubes?", "And tyres?", "Which fit a 28 inch wheel?"]):
            answer = client.chat.completions.create(
                model=server.model,
                messages=[
                    {"role": "system", "content": f"It is 2026-11-29 09:00:0{second}. {RULES}"},
                    {"role": "user", "content": question},
                ],
                max_completion_tokens=16,
            )
            print(answer.usage.prompt_tokens_details.cached_tokens, "of", answer.usage.prompt_tokens, "tokens cached")
    print(f"HITRATE_STORE={store} hitrate explain {recording.run}")


if __name__ == "__main__":
    main()
