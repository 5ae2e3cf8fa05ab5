"""AWS signatures (Signature Version 4) for Bedrock, by botocore, which the extra `bedrock` brings.

Needed where access keys, a profile or a role are used; a Bedrock API key goes into `Authorization` like any other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from hitrate.errors import KeyMissing, UsageError

SERVICE = "bedrock"

_REGION_IN_HOST = re.compile(r"bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.")


def sign(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    region: str | None = None,
    profile: str | None = None,
) -> dict[str, str]:
    """`headers` and those that sign the request: `Authorization`, `X-Amz-Date`, for temporary keys also their token.

    Every header given is signed but those that a proxy may change, so send them as they are. Where the region is not
    given it is read off the host, else taken from AWS_DEFAULT_REGION or the profile; keys are found as AWS's own tools
    find them (environment, profile, role). A signature holds for five minutes. Raises UsageError without botocore or
    region, KeyMissing without keys.
    """
    auth, awsrequest, errors, session = _botocore()
    found = _REGION_IN_HOST.search(urlsplit(url).hostname or "")
    region = region or (found[1] if found else None)
    try:
        own = session.Session(profile=profile)
        region = region or own.get_config_variable("region")
        if region is None:
            raise UsageError(f"no AWS region in {url}: name it in AWS_DEFAULT_REGION")
        credentials = own.get_credentials()
        frozen = credentials.get_frozen_credentials() if credentials is not None else None
    except errors.BotoCoreError as error:
        raise UsageError(f"AWS keys cannot be had: {error}") from None
    if frozen is None:
        raise KeyMissing("no AWS keys found; nothing was sent: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    request = awsrequest.AWSRequest(method=method, url=url, headers=dict(headers), data=body)
    auth.SigV4Auth(frozen, SERVICE, region).add_auth(request)
    return dict(request.headers.items())


def _botocore() -> tuple[Any, Any, Any, Any]:
    try:
        from botocore import auth, awsrequest, exceptions, session
    except ImportError:
        raise UsageError("signing for Bedrock needs botocore: pip install 'hitrate[bedrock]'") from None
    return auth, awsrequest, exceptions, session
