"""Keys and cookies, found where they stand and removed where they are repeated."""

import base64
import gzip
import zlib

import pytest

from hitrate.logs.secret_values import is_secret_header, mask_query
from hitrate.record.header_lines import HeaderLines
from hitrate.record.masking import Secrets

KEY = "sk-planted-0123456789"


def secrets(*headers, target="/v1/x", further=()):
    return Secrets(HeaderLines([header.encode() for header in headers]), target.encode(), further)


@pytest.mark.parametrize(
    "headers",
    [
        f"Authorization: Bearer {KEY}",
        f"authorization:bearer   {KEY}  ",
        f"Authorization: {KEY}",
        f"Proxy-Authorization: Basic {base64.b64encode(f'user:{KEY}'.encode()).decode()}",
        f"x-api-key: {KEY}",
        f"api-key: {KEY}",
        f"X-Goog-Api-Key: {KEY}",
        f"x-hitrate-token: {KEY}",
        f"x-amz-security-token: {KEY}",
        f"Ocp-Apim-Subscription-Key: {KEY}",
        f"Helicone-Auth: Bearer {KEY}",
        f"x-portkey-api-key: {KEY}",
        f"Cookie: a=short; session={KEY}; b=c",
        f'Cookie: session="{KEY}"',
    ],
)
def test_secret_headers(headers):
    assert secrets(headers).mask(f"key {KEY}!".encode()) == b"key ***!"


@pytest.mark.parametrize(
    "query",
    [
        "key",
        "api_key",
        "api-key",
        "apikey",
        "access_token",
        "sig",
        "X-Amz-Signature",
        "subscription-key",
        "a=b&key",
        "token",
    ],
)
def test_secret_parameters(query):
    target = f"/v1/x?{query}={KEY}&z=1"
    assert mask_query(target.encode()) == f"/v1/x?{query}=***&z=1".encode()
    assert secrets(target=target).mask(KEY.encode()) == b"***"


def test_a_parameter_is_found_in_its_plain_form_too():
    found = secrets(target="/x?key=abc%2Fdefgh%3D")
    assert found.mask(b"abc/defgh= abc%2Fdefgh%3D") == b"*** ***"


@pytest.mark.parametrize("target", [b"/v1/x", b"/v1/x?alt=sse&monkey", b"/v1/key=1", b"/v1/x?model=a%26key"])
def test_other_targets_stay(target):
    assert mask_query(target) == target


@pytest.mark.parametrize("key", ["EMPTY", "ollama", "lm-studio", "no-key", "sk-no-key-required"])
def test_placeholders_are_no_keys(key):
    """They are words that a prompt may hold."""
    assert secrets(f"Authorization: Bearer {key}").mask(f"use {key} here".encode()) == f"use {key} here".encode()


@pytest.mark.parametrize(
    "name", [b"x-session-id", b"x-smg-routing-key", b"x-session-token", b"user-agent", b"anthropic-beta"]
)
def test_what_is_kept_is_no_secret(name):
    assert not is_secret_header(name)


def test_a_secret_inside_another_one_goes_with_it():
    found = secrets("x-api-key: sk-planted", "Authorization: Bearer sk-planted-and-longer")
    assert found.mask(b"sk-planted-and-longer sk-planted") == b"*** ***"


def test_cookies_that_an_answer_sets():
    found = secrets("x-api-key: sk-planted-1")
    found.add_response_headers(HeaderLines([b"Set-Cookie: __cf_bm=cookie-value; Path=/long/path/here; HttpOnly"]))
    assert found.mask(b"cookie-value /long/path/here") == b"*** /long/path/here"


BOTH_SIDES = pytest.mark.parametrize("side", ["mask_request", "mask_response"])


@BOTH_SIDES
@pytest.mark.parametrize(
    ("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("gzip, identity", gzip.compress)]
)
def test_coded_bodies_are_looked_into(side, coding, pack):
    mask = getattr(secrets(f"x-api-key: {KEY}"), side)
    plain = pack(b"nothing here")
    assert mask(plain, coding) == (plain, False)
    assert mask(pack(f"your key {KEY} is wrong".encode()), coding) == (b"your key *** is wrong", True)


@BOTH_SIDES
@pytest.mark.parametrize(("coding", "body"), [("odd", b"x"), ("gzip", b"no gzip"), ("gzip, odd", b"x")])
def test_a_body_that_cannot_be_looked_into_is_not_kept(side, coding, body):
    assert getattr(secrets(f"x-api-key: {KEY}"), side)(body, coding) is None
    assert getattr(secrets(), side)(body, coding) == (body, False)


@BOTH_SIDES
def test_a_cut_gzip_body_is_looked_into_as_far_as_it_goes(side):
    whole = gzip.compress(f"{KEY} and {'more ' * 100}".encode(), 0)
    masked, unpacked = getattr(secrets(f"x-api-key: {KEY}"), side)(whole[:60], "gzip")
    assert (masked[:8], unpacked) == (b"*** and ", True)


def test_what_a_member_of_the_request_holds_is_a_secret_of_the_answer():
    found = secrets()
    body = b'{"mcp_servers":[{"authorization_token":"%b"}],"messages":[]}' % KEY.encode()
    assert found.mask_request(gzip.compress(body), "gzip") == (body.replace(KEY.encode(), b"***"), True)
    assert found.mask_response(b"wrong token " + KEY.encode(), "") == (b"wrong token ***", False)


def test_what_comes_in_pieces_is_found_in_an_answer():
    event = b'data: {"choices":[{"delta":{"content":"%b"}}]}\n\n'
    stream = event % b"it is sk-pla" + event % b"nted-0123456" + event % b"789."
    assert secrets(f"x-api-key: {KEY}").mask_response(gzip.compress(stream), "gzip") == (
        event % b"it is ***" + event % b"" + event % b".",
        True,
    )
