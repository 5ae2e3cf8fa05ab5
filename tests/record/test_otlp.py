"""Calls sent to a collector over OTLP, and read back by hitrate's own importer: the figures are the same."""

import http.server
import io
import json
import threading
from contextlib import contextmanager

import httpx
import pytest
from exchanges import chat
from streams import CHAT

import hitrate.record
from hitrate.core.model import Call, Reply, Timing, Usage
from hitrate.errors import HitrateError, UsageError
from hitrate.logs.formats.otel import Otel
from hitrate.record.keeper import Keeper
from hitrate.record.otlp import OtlpExport, check_otlp, common_attributes, span_attributes
from hitrate.record.otlp_names import operation_of, provider_of, server_of
from hitrate.record.reading import call_of

json_format = pytest.importorskip("google.protobuf.json_format")
metrics_service = pytest.importorskip("opentelemetry.proto.collector.metrics.v1.metrics_service_pb2")
trace_service = pytest.importorskip("opentelemetry.proto.collector.trace.v1.trace_service_pb2")

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"}]
CALL = Call(
    target="openai",
    dialect="openai-chat",
    body=json.dumps({"model": "gpt-5", "messages": MESSAGES, "stream": True, "max_completion_tokens": 9}).encode(),
    model="gpt-5",
    session="s-1",
    status=200,
    usage=Usage(prompt_tokens=2000, cached_tokens=1500, written_tokens=400, output_tokens=9, reasoning_tokens=4),
    timing=Timing(at=1.79e9, sent_at_s=7.0, ttft_s=0.25, total_s=1.5),
    reply=Reply(message={}, text="Hi.", finish_reason="stop", model="gpt-5-2026", response_id="c-1"),
)


class Collector:
    """What came over OTLP, as JSON of OTLP."""

    def __init__(self, address):
        self.address = address
        self.traces, self.metrics = [], []

    def spans(self):
        return [one for request in self.traces for one in request["resourceSpans"][0]["scopeSpans"][0]["spans"]]

    def points(self, name):
        """Of the last export: attributes and sum of each point of a histogram."""
        for metric in self.metrics[-1]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
            if metric["name"] == name:
                return [(plain(point["attributes"]), point["sum"]) for point in metric["histogram"]["dataPoints"]]
        return []

    def calls(self):
        document = json.dumps({"resourceSpans": [one for request in self.traces for one in request["resourceSpans"]]})
        return [one for one in Otel().read(io.BytesIO(document.encode()), lambda *_: None) if isinstance(one, Call)]


def plain(attributes):
    return {one["key"]: next(iter(one["value"].values())) for one in attributes}


@contextmanager
def collecting():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            traces = self.path == "/v1/traces"
            service = trace_service.ExportTraceServiceRequest if traces else metrics_service.ExportMetricsServiceRequest
            sent = service.FromString(self.rfile.read(int(self.headers["content-length"])))
            (collector.traces if traces else collector.metrics).append(json_format.MessageToDict(sent))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector = Collector(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def exported(*calls, **options):
    with collecting() as collector:
        export = OtlpExport(collector.address, **options)
        for call in calls:
            export.add(call)
        export.close()
        return collector


def test_round_trip():
    collector = exported(CALL)
    [read] = collector.calls()
    given = CALL.usage
    assert (read.usage.prompt_tokens, read.usage.cached_tokens, read.usage.written_tokens) == (2000, 1500, 400)
    assert (read.usage.output_tokens, read.usage.reasoning_tokens) == (given.output_tokens, given.reasoning_tokens)
    assert (read.target, read.model, read.session) == (CALL.target, CALL.model, CALL.session)
    assert (read.timing.at, read.timing.ttft_s, read.timing.total_s) == (1.79e9, 0.25, pytest.approx(1.5))
    assert read.error is None
    assert read.body == b""


def test_a_span():
    [span] = exported(CALL).spans()
    assert (span["name"], span["kind"]) == ("chat gpt-5", "SPAN_KIND_CLIENT")
    assert (span["startTimeUnixNano"], span["endTimeUnixNano"]) == ("1790000000000000000", "1790000001500000000")
    assert plain(span["attributes"]) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-5",
        "gen_ai.response.model": "gpt-5-2026",
        "server.address": "api.openai.com",
        "server.port": "443",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.request.stream": True,
        "gen_ai.request.max_tokens": "9",
        "gen_ai.response.id": "c-1",
        "gen_ai.response.finish_reasons": {"values": [{"stringValue": "stop"}]},
        "gen_ai.response.time_to_first_chunk": 0.25,
        "gen_ai.usage.input_tokens": "2000",
        "gen_ai.usage.output_tokens": "9",
        "gen_ai.usage.cache_read.input_tokens": "1500",
        "gen_ai.usage.cache_creation.input_tokens": "400",
        "gen_ai.usage.cache_write.input_tokens": "400",
        "gen_ai.usage.reasoning.output_tokens": "4",
        "http.response.status_code": "200",
        "hitrate.hit_rate": 0.75,
    }


def test_metrics():
    collector = exported(CALL, CALL)
    usage = {points["gen_ai.token.type"]: total for points, total in collector.points("gen_ai.client.token.usage")}
    assert usage == {"input": 4000, "output": 18}
    [(attributes, total)] = collector.points("gen_ai.client.operation.duration")
    assert total == 3.0
    assert attributes["gen_ai.request.model"] == "gpt-5" and "error.type" not in attributes
    assert [total for _, total in collector.points("gen_ai.client.operation.time_to_first_chunk")] == [0.5]


def test_what_is_not_known_is_left_out():
    bare = Call(target="http://10.0.0.1:8000/v1", dialect="openai-chat", body=b"\x00", error="planted words")
    assert common_attributes(bare) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "server.address": "10.0.0.1",
        "server.port": 8000,
        "error.type": "_OTHER",
    }
    assert span_attributes(bare) == {}
    collector = exported(bare)
    assert (collector.traces, collector.metrics) == ([], [])


@pytest.mark.parametrize("content", [False, True])
def test_what_was_said_is_sent_only_when_asked_for(content):
    cut = Call(
        target="openai",
        dialect="openai-chat",
        body=CALL.body,
        error="planted words",
        timing=Timing(at=1.79e9, sent_at_s=7.0, headers_s=0.5),
    )
    collector = exported(CALL, cut, content=content)
    sent = json.dumps(collector.traces)
    assert [words in sent for words in ("Be brief.", "hello", "Hi.", "planted words")] == [content] * 4
    assert collector.spans()[1]["status"]["code"] == "STATUS_CODE_ERROR"
    if content:
        read = collector.calls()[0]
        assert json.loads(read.body)["messages"] == MESSAGES


@pytest.mark.parametrize(
    ("target", "dialect", "provider", "operation", "server"),
    [
        ("anthropic", "anthropic-messages", "anthropic", "chat", ("api.anthropic.com", 443)),
        ("bedrock", "bedrock-converse", "aws.bedrock", "chat", None),
        ("gemini", "gemini-generate", "gcp.gemini", "generate_content", ("generativelanguage.googleapis.com", 443)),
        ("xai", "openai-chat", "x_ai", "chat", ("api.x.ai", 443)),
        ("http://[::1]:80/v1", "anthropic-messages", "anthropic", "chat", ("::1", 80)),
        ("nobody-knows", "llamacpp-completion", "nobody-knows", "text_completion", (None, None)),
        ("http://[", "openai-chat", "openai", "chat", (None, None)),
    ],
)
def test_names(target, dialect, provider, operation, server):
    assert (provider_of(target, dialect), operation_of(dialect)) == (provider, operation)
    assert server is None or server_of(target) == server


def test_a_recorded_program(tmp_path):
    def answer(request):
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces())

    class Pieces(httpx.SyncByteStream):
        def __iter__(self):
            yield from CHAT

    with collecting() as collector:
        with hitrate.record.recording(tmp_path / "runs.sqlite3", otlp=collector.address) as recording:
            client = hitrate.record.httpx(httpx.Client(transport=httpx.MockTransport(answer)))
            client.post("https://api.openai.com/v1/chat/completions", json={"model": "m-1", "messages": MESSAGES})
            assert recording.flush()
        [read] = collector.calls()
    assert (read.target, read.usage.prompt_tokens, read.usage.cached_tokens) == ("openai", 40, 32)
    assert b"hello" not in json.dumps(collector.traces).encode()


def test_the_keeper_of_a_proxy(store, run):
    import contextlib

    from hitrate.record.__main__ import export_of, parser
    from hitrate.record.journal import Journal
    from hitrate.record.told_store import ToldStore

    folder = store.path.with_name("journal")
    journal = Journal(folder)
    exchange = chat(1)
    assert journal.record(exchange)
    journal.close()
    with collecting() as collector:
        asked = parser().parse_args(["store", run, "--otlp", collector.address])
        with ToldStore.open(store.path) as told, contextlib.ExitStack() as closing:
            told.listeners = export_of(asked, closing)
            assert Keeper(folder, told, run).drain() == 1
        [read] = collector.calls()
    assert read.usage.prompt_tokens == call_of(exchange).usage.prompt_tokens == 40


def test_a_collector_that_is_gone_stops_nothing(monkeypatch):
    monkeypatch.setattr("hitrate.record.otlp._TIMEOUT_S", 0.2)
    export = OtlpExport("http://127.0.0.1:9")
    export.add(CALL)
    export.close()


@pytest.mark.parametrize("url", ["127.0.0.1:4318", "ftp://x", "http://user:key@x", "http://x?key=1"])
def test_what_is_no_endpoint_is_refused(url):
    with pytest.raises(UsageError, match="no OTLP endpoint"):
        check_otlp(url)


def test_without_the_extra(monkeypatch):
    monkeypatch.setattr("hitrate.record.otlp.find_spec", lambda name: None)
    with pytest.raises(HitrateError, match="needs opentelemetry, which is not installed") as raised:
        check_otlp("http://127.0.0.1:4318")
    assert raised.value.hint == "pip install 'hitrate[otel]'"
