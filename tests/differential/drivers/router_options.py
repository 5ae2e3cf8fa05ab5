"""Parses command lines as a router's launcher does: per line [router, words], and answers the policy or the fault."""

from __future__ import annotations

import argparse
import importlib
import json
import sys


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:
        raise ValueError(message)


def answer(router: str, words: list[str]) -> str:
    arguments = importlib.import_module(f"{router}_router.router_args").RouterArgs
    parser = Parser()
    arguments.add_cli_args(parser, use_router_prefix=False)
    try:
        return str(parser.parse_args(words).policy)
    except ValueError as error:
        return f"refused: {error}"


for line in sys.stdin:
    print(json.dumps(answer(*json.loads(line))), flush=True)
