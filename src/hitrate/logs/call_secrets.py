"""Keys and cookies out of calls that a log told of: who wrote the log may have kept them."""

from __future__ import annotations

from msgspec.structs import replace

from hitrate.core.model import Call
from hitrate.core.secret_headers import SECRET_HEADERS
from hitrate.logs.secret_values import SecretValues, is_secret_header, mask_members


def without_secret_headers(call: Call) -> Call:
    """The same call where it has none."""
    headers = {name: value for name, value in call.headers.items() if not is_secret_header(name.lower().encode())}
    # An answer has counts of tokens, and keys of caches.
    answered = {name: value for name, value in call.response_headers.items() if name.lower() not in SECRET_HEADERS}
    if len(headers) == len(call.headers) and len(answered) == len(call.response_headers):
        return call
    return replace(call, headers=headers, response_headers=answered)


def without_secrets(call: Call) -> Call:
    """Also without what settings of the request hold, and without its repetition there and in the error."""
    call = without_secret_headers(call)
    body, found = mask_members(call.body)
    if body is call.body:
        return call
    secrets = SecretValues(found)
    error = None if call.error is None else secrets.mask(call.error.encode()).decode()
    return replace(call, body=secrets.mask(body), error=error)
