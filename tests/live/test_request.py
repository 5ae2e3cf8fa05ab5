import pytest

from hitrate.errors import UsageError
from hitrate.live.request import header_lines, request_head


def test_a_head_is_written_line_by_line():
    lines = header_lines({"Host": "h:1", "X-A": " b "}) | header_lines({"x-a": "c"})
    assert (
        request_head("POST", "/v1/x", lines, length=3)
        == b"POST /v1/x HTTP/1.1\r\nHost: h:1\r\nx-a: c\r\nContent-Length: 3\r\n\r\n"
    )
    assert request_head("GET", "/", {}, length=None) == b"GET / HTTP/1.1\r\n\r\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-A", "b\r\nX-Evil: 1"),
        ("X-A", "nul\0nul"),
        ("Authorization", "Bearer “quoted”"),
        ("X A", "plain"),
        ("X-A:", "plain"),
        ("", "plain"),
        ("Content-Length", "3333"),
        ("transfer-encoding", "chunked"),
        ("Connection", "close"),
    ],
)
def test_headers_that_cannot_be_sent_are_refused_without_repeating_the_value(name, value):
    with pytest.raises(UsageError) as caught:
        header_lines({name: value})
    assert value not in caught.value.message


def test_a_key_copied_with_its_line_end_is_sent_without_it():
    assert header_lines({"Authorization": "Bearer k\n"}) == {"authorization": "Authorization: Bearer k"}
