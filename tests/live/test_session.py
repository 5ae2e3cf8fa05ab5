import asyncio
import json

import pytest
from wire_server import WireServer, with_length

from hitrate.core.money import Price
from hitrate.errors import KeyMissing, KeyRefused, UsageError
from hitrate.live.session import Opened, check_budget, choose_model, choose_price, connected, list_models, unreachable
from hitrate.targets.dialects.openai_chat import OpenAIChat
from hitrate.targets.models import Model
from hitrate.targets.presets import Target, load

PRICE = Price(input_usd_per_mtok=1.0, cached_usd_per_mtok=0.1, output_usd_per_mtok=4.0)


def opened(*ids):
    models = tuple(Model(id=name, price=PRICE if name == "priced" else Price()) for name in ids)
    return Opened(client=None, dialect=OpenAIChat(), target=Target(name="t"), models=models)


def test_a_wanted_model_is_tried_also_if_it_is_not_listed():
    assert choose_model(opened("a", "b"), "alias") == "alias"


def test_the_only_model_is_taken():
    assert choose_model(opened("a"), None) == "a"


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        ((), "t lists no models; name one with --model"),
        (("a", "b"), "t has 2 models; choose one with --model: a, b"),
        (("a", "b", "c", "d", "e", "f"), "t has 6 models; choose one with --model: a, b, c, d, e and 1 more"),
    ],
)
def test_otherwise_one_has_to_be_named(ids, says):
    with pytest.raises(UsageError) as caught:
        choose_model(opened(*ids), None)
    assert caught.value.message == says


def test_a_price_from_the_command_line_then_the_listed_one_then_none():
    assert choose_price(opened("priced"), "priced", (2.0, 0.5, 8.0)).cached_usd_per_mtok == 0.5
    assert choose_price(opened("priced"), "priced", None) is PRICE
    assert choose_price(opened("priced"), "other", None).known is False


@pytest.mark.parametrize(
    ("price", "budget", "says"),
    [
        (Price(), None, None),
        (PRICE, None, "estimated cost: at most $0.0340 for 5 calls, about 30,000 prompt tokens, none cached"),
        (PRICE, 0.04, "estimated cost: at most $0.0340 for 5 calls, about 30,000 prompt tokens, none cached"),
    ],
)
def test_what_a_run_may_cost_is_said(price, budget, says):
    assert check_budget("t", 5, 30_000, 1000, price, budget) == says


@pytest.mark.parametrize(
    ("price", "says"),
    [
        (
            PRICE,
            "estimated cost: at most $0.0340 for 5 calls, about 30,000 prompt tokens, none cached; that is over "
            "--budget $0.03; nothing was sent",
        ),
        (Price(), "--budget cannot be held: no price is known for t; give it with --price; nothing was sent"),
    ],
)
def test_a_budget_that_cannot_be_held_is_refused(price, says):
    with pytest.raises(UsageError) as caught:
        check_budget("t", 5, 30_000, 1000, price, 0.03)
    assert caught.value.message == says


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (
            Target(name="vllm", start_command="vllm serve M"),
            "vllm: http://h:1: connection refused; start it with: vllm serve M",
        ),
        (Target(name="h:1"), "http://h:1: connection refused; is it running, and the address right?"),
    ],
)
def test_an_address_that_does_not_answer(target, says):
    assert unreachable(target, "http://h:1: connection refused").message == says


@pytest.mark.parametrize(
    ("answer", "ids"),
    [
        (with_length(json.dumps({"data": [{"id": "a"}, {"id": "b"}]}).encode()), ["a", "b"]),
        (with_length(b"{}", status=b"404 Not Found"), []),
        (with_length(b"<html>"), []),
        (with_length(b'{"data": 5}'), []),
    ],
)
def test_a_target_may_have_no_list(answer, ids):
    async def listed():
        async with WireServer(answer) as server:
            target = Target(name="t", base_url=server.url)
            async with connected(target, key="secret", headers={"x-a": "b"}, timeout_s=5) as client:
                found = await list_models(client)
            return server.requests[0][0], [model.id for model in found]

    head, found = asyncio.run(listed())
    assert found == ids
    assert b"\r\nAuthorization: Bearer secret\r\n" in head
    assert b"\r\nx-a: b\r\n" in head


@pytest.fixture
def aws(monkeypatch, tmp_path):
    """The machine's own AWS settings are out of reach."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    return monkeypatch


def test_where_there_is_no_key_requests_are_signed_if_the_target_takes_that(aws):
    pytest.importorskip("botocore")
    aws.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    aws.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-aws")
    aws.setenv("AWS_DEFAULT_REGION", "eu-west-1")

    async def sent(key):
        async with WireServer(with_length(b"{}", status=b"400 Bad Request")) as server:
            target = Target(name="t", base_url=server.url, dialect="bedrock-converse", signing="aws")
            async with connected(target, key=key, headers={}, timeout_s=5) as client:
                await client.call(b'{"messages":[]}', model="a.b-v1:0")
            return server.requests[0][0]

    head = asyncio.run(sent(None))
    assert head.startswith(b"POST /v1/model/a.b-v1%3A0/converse-stream HTTP/1.1\r\n")
    assert b"Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/" in head
    assert b"/eu-west-1/bedrock/aws4_request" in head
    assert b"X-Amz-Date: " in head and b"secret-of-aws" not in head
    assert b"Authorization: Bearer k\r\n" in asyncio.run(sent("k"))


@pytest.mark.parametrize("region", [None, "eu-west-1"])
def test_what_cannot_be_signed_is_said_before_anything_is_sent(aws, region):
    pytest.importorskip("botocore")
    if region:
        aws.setenv("AWS_DEFAULT_REGION", region)

    async def sent():
        async with WireServer() as server:
            target = Target(
                name="t", base_url=server.url, dialect="bedrock-converse", signing="aws", key_variable="THE_KEY"
            )
            with pytest.raises(
                KeyMissing, match="t needs a key: THE_KEY is not set, and requests cannot be signed"
            ) as no:
                async with connected(target, key=None, headers={}, timeout_s=5):
                    pass
            assert server.requests == []
            return no.value.message

    message = asyncio.run(sent())
    assert ("no AWS keys found" if region else "no AWS region") in message
    assert message.endswith("; nothing was sent")


def test_a_header_of_the_users_own_takes_the_place_of_the_key():
    async def sent():
        async with WireServer(with_length(b"[]")) as server:
            target = Target(name="t", base_url=server.url)
            async with connected(target, key="k1", headers={"authorization": "Basic k2"}, timeout_s=5) as client:
                await list_models(client)
            return server.requests[0][0]

    head = asyncio.run(sent())
    assert b"Basic k2" in head
    assert b"k1" not in head


def test_a_hosted_model_that_lists_no_price_has_that_of_the_price_package():
    hosted = Opened(client=None, dialect=None, target=load("openai"), models=())
    price = choose_price(hosted, "gpt-4.1", None)
    assert (price.input_usd_per_mtok, price.cached_usd_per_mtok, price.output_usd_per_mtok) == (2.0, 0.5, 8.0)
    assert "genai-prices" in price.source
    own = Opened(client=None, dialect=None, target=load("vllm"), models=())
    assert choose_price(own, "gpt-4.1", None) == Price()


def test_a_key_that_the_list_of_models_refuses_is_named_unless_a_model_is():
    target = Target(name="t", key_variable="THE_KEY")
    refused = Opened(client=None, dialect=None, target=target, models=(), list_refused="GET x: HTTP 401: bad key")
    with pytest.raises(KeyRefused) as no:
        choose_model(refused, None)
    assert no.value.message == "t refused the key (GET x: HTTP 401: bad key); check the key in THE_KEY"
    assert no.value.exit_code == 3
    assert choose_model(refused, "m") == "m"
