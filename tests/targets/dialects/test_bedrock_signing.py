import datetime
import hashlib
import hmac
import sys

import pytest

from hitrate.errors import KeyMissing, UsageError
from hitrate.targets.dialects.bedrock_signing import sign

URL = "https://bedrock-runtime.eu-west-1.amazonaws.com/model/us.anthropic.claude-x-v1%3A0/converse-stream"
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"}


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path):
    auth = pytest.importorskip("botocore.auth")
    moment = datetime.datetime(2026, 11, 29, 12, 0, 0)
    monkeypatch.setattr(auth, "get_current_datetime", lambda: moment)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", *KEYS):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    return monkeypatch


def expected_signature(body: bytes, signed: dict[str, str]) -> str:
    """Signature Version 4 by AWS's description of it: the path is encoded once more than it is sent."""
    names = ";".join(sorted(signed))
    request = "\n".join(
        [
            "POST",
            "/model/us.anthropic.claude-x-v1%253A0/converse-stream",
            "",
            *(f"{name}:{signed[name]}" for name in sorted(signed)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        ]
    )
    scope = "20261129/eu-west-1/bedrock/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", "20261129T120000Z", scope, hashlib.sha256(request.encode()).hexdigest()])
    key = ("AWS4" + KEYS["AWS_SECRET_ACCESS_KEY"]).encode()
    for part in ("20261129", "eu-west-1", "bedrock", "aws4_request", to_sign):
        key = hmac.digest(key, part.encode(), "sha256")
    credential = f"Credential=AKIDEXAMPLE/{scope}"
    return f"AWS4-HMAC-SHA256 {credential}, SignedHeaders={names}, Signature={key.hex()}"


@pytest.mark.parametrize("token", [None, "session-token"])
def test_a_signature(keys, token):
    for name, value in KEYS.items():
        keys.setenv(name, value)
    if token:
        keys.setenv("AWS_SESSION_TOKEN", token)
    body = b'{"messages":[]}'
    signed = sign("POST", URL, {"Content-Type": "application/json"}, body)
    headers = {
        "content-type": "application/json",
        "host": "bedrock-runtime.eu-west-1.amazonaws.com",
        "x-amz-date": "20261129T120000Z",
    } | ({"x-amz-security-token": token} if token else {})
    assert signed["Authorization"] == expected_signature(body, headers)
    assert signed["X-Amz-Date"] == "20261129T120000Z"
    assert signed.get("X-Amz-Security-Token") == token
    assert signed["Content-Type"] == "application/json"


def test_no_keys(keys):
    with pytest.raises(KeyMissing, match="no AWS keys found; nothing was sent"):
        sign("POST", URL, {}, b"")


def test_a_profile_that_is_not_there(keys):
    with pytest.raises(UsageError, match="nobody"):
        sign("POST", URL, {}, b"", profile="nobody")


def test_no_region(keys):
    with pytest.raises(UsageError, match=r"no AWS region in https://proxy.example/model: name it"):
        sign("POST", "https://proxy.example/model", {}, b"")


def test_botocore_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "botocore", None)
    with pytest.raises(UsageError, match=r"^signing for Bedrock needs botocore: pip install 'hitrate\[bedrock\]'$"):
        sign("POST", URL, {}, b"")
