"""The child process that holds the llama.cpp server: `python -m hitrate.engines.llamacpp_process`.

The server lives in the interpreter that starts it and cannot be stopped there, so it gets an interpreter of its own.
Standard input carries one line of JSON, the fields of `CommonParams` by dotted name; then it stays open, and when it
closes, because the parent ended however it ended, this process ends too. Standard output carries one line of JSON back:
the address, or the error. Everything llama.cpp prints goes to standard error, which the parent makes a file.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        server = start_server(json.loads(sys.stdin.readline()))
        report = {"address": server.listening_address}
    except Exception as error:
        report = {"error": str(error).strip() or type(error).__name__}
    print(json.dumps(report), file=answer, flush=True)
    if "error" not in report:
        while os.read(0, 4096):
            pass
    # The server's threads would keep the interpreter from ending on its own.
    os._exit("error" in report)


def start_server(fields: dict[str, Any]) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    for dotted_name, value in fields.items():
        *owners, name = dotted_name.split(".")
        holder: Any = parameters
        for owner in owners:
            holder = getattr(holder, owner)
        setattr(holder, name, set(value) if name == "model_alias" else value)
    return xllamacpp.Server(parameters)


if __name__ == "__main__":
    main()
