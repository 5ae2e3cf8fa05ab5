"""Keys and cookies, found where they stand and removed where they are repeated."""

import base64
import gzip
import zlib

import pytest

from hitrate.record.header_lines import HeaderLines
from hitrate.record.masking import Secrets, is_secret_header, mask_query

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


@pytest.mark.parametrize(
    ("coding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("gzip, identity", gzip.compress)]
)
def test_coded_bodies_are_looked_into(coding, pack):
    found = secrets(f"x-api-key: {KEY}")
    plain = pack(b"nothing here")
    assert found.mask_body(plain, coding) == (plain, False)
    assert found.mask_body(pack(f"your key {KEY} is wrong".encode()), coding) == (b"your key *** is wrong", True)


@pytest.mark.parametrize(("coding", "body"), [("odd", b"x"), ("gzip", b"no gzip"), ("gzip, odd", b"x")])
def test_a_body_that_cannot_be_looked_into_is_not_kept(coding, body):
    assert secrets(f"x-api-key: {KEY}").mask_body(body, coding) is None
    assert secrets().mask_body(body, coding) == (body, False)


def test_a_cut_gzip_body_is_looked_into_as_far_as_it_goes():
    found = secrets(f"x-api-key: {KEY}")
    whole = gzip.compress(f"{KEY} and {'more ' * 100}".encode(), 0)
    masked, unpacked = found.mask_body(whole[:60], "gzip")
    assert (masked[:8], unpacked) == (b"*** and ", True)
