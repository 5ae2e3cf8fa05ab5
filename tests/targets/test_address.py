import pytest

from hitrate.errors import UsageError
from hitrate.targets.address import parse_base_url


@pytest.mark.parametrize(
    ("base_url", "shown", "port", "target"),
    [
        ("http://127.0.0.1:8080/v1", "http://127.0.0.1:8080", 8080, "/v1/models"),
        ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080", 8080, "/v1/models"),
        ("https://api.example.com", "https://api.example.com", 443, "/models"),
        ("https://API.example.com:443/a/b", "https://api.example.com", 443, "/a/b/models"),
        ("http://[::1]:9/v1", "http://[::1]:9", 9, "/v1/models"),
        ("https://x.example/openai?api-version=2", "https://x.example", 443, "/openai/models?api-version=2"),
        ("https://bücher.example/v1", "https://xn--bcher-kva.example", 443, "/v1/models"),
    ],
)
def test_base_urls(base_url, shown, port, target):
    address = parse_base_url(base_url)
    assert (str(address), address.port, address.target_of("/models")) == (shown, port, target)


def test_a_path_can_be_put_behind_the_host():
    address = parse_base_url("http://127.0.0.1:1/v1?k=v")
    assert address.target_of("/slots?model=m", from_root=True) == "/slots?model=m&k=v"


@pytest.mark.parametrize(
    "base_url",
    ["127.0.0.1:8080/v1", "localhost", "ftp://x/v1", "http://", "http://x:99999", "http://x/a b", "http://x/ä", ""],
)
def test_what_is_no_base_url_is_refused(base_url):
    with pytest.raises(UsageError):
        parse_base_url(base_url)


def test_a_password_in_the_url_is_refused_and_not_repeated():
    with pytest.raises(UsageError) as caught:
        parse_base_url("https://me:secret@x.example/v1")
    assert "secret" not in caught.value.message
