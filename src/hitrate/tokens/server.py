"""An engine's own endpoints, which lie beside /v1, not under it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from hitrate.errors import TargetError, Unreachable

TIMEOUT_S = 120


class EngineServer(Struct, frozen=True):
    """`engine` is its name in error messages; `key` goes along as a bearer token.

    Every question raises Unreachable when there is no answer, and TargetError for one that is refused.
    """

    base_url: str
    engine: str
    key: str | None = None

    def ask(self, method: str, path: str, members: Mapping[str, Any] | None = None) -> Any:
        """The JSON that the server answers."""
        text = self._answer(method, path, members)
        try:
            return json.loads(text)
        except ValueError:
            raise TargetError(
                f"{self.base_url}: {path} does not answer with JSON; is it a {self.engine} server?"
            ) from None

    def text(self, path: str) -> str:
        return self._answer("GET", path, None).decode("utf-8", "replace")

    def _answer(self, method: str, path: str, members: Mapping[str, Any] | None) -> bytes:
        address = urlsplit(self.base_url)
        prefix = address.path.rstrip("/").removesuffix("/v1")
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        connection = kind(address.netloc, timeout=TIMEOUT_S)
        headers = {"Content-Type": "application/json"}
        if self.key is not None:
            headers["Authorization"] = f"Bearer {self.key}"
        try:
            connection.request(method, prefix + path, None if members is None else json.dumps(members), headers)
            response = connection.getresponse()
            status, text = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{self.base_url}: {path} failed: {error}; is it a {self.engine} server?") from error
        finally:
            connection.close()
        if status != 200:
            raise TargetError(f"{self.base_url}: {path} answers {status}: {_reason(text)}")
        return text


def _reason(text: bytes) -> str:
    try:
        return str(json.loads(text)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return text[:200].decode("utf-8", "replace")
