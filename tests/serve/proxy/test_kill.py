"""An exchange whose end the client saw is on record, though everything is killed in the next moment."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress

import pytest

from hitrate.logs.store import Store
from hitrate.record.recovery import recover

ANSWERS = 150
STREAMS = 4
CHUNKS = b"".join(
    b"%x\r\n%b\r\n" % (len(data), data)
    for data in (b'data: {"id":"a","choices":[{"index":0,"delta":{"content":"word"}}]}\n\n', b"data: [DONE]\n\n")
)
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS + b"0\r\n\r\n"
)


def answer_all(listening):
    """A model server: a thread a connection, each request whole in one read or two."""

    def serve(connection):
        with connection, suppress(ConnectionError):
            data = b""
            while piece := connection.recv(65536):
                data += piece
                if data.endswith(b"}"):
                    connection.sendall(ANSWER)
                    data = b""

    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def ask(port, stream, seen, enough):
    """Until the proxy is gone; notes what was answered to the end."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for number in range(10**6):
            name = f"{stream}-{number}"
            body = json.dumps({"model": name, "messages": [{"role": "user", "content": "x" * 500}]}).encode()
            head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
            try:
                connection.sendall(head + body)
                data = b""
                while not data.endswith(b"0\r\n\r\n"):
                    piece = connection.recv(65536)
                    if not piece:
                        return
                    data += piece
            except OSError:
                return
            seen.append(name)
            if len(seen) >= ANSWERS:
                enough.set()


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
@pytest.mark.parametrize("with_keeper", [False, True], ids=["proxy", "proxy-and-keeper"])
def test_no_acknowledged_exchange_is_lost(tmp_path, with_keeper):
    store = tmp_path / "runs.sqlite3"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=answer_all, args=(listening,), daemon=True).start()
        upstream = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        command = [sys.executable, "-m", "hitrate", "proxy", upstream, "--port", "0", "--json", "--store", str(store)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
            ready = json.loads(process.stdout.readline())
            port = int(ready["address"].rpartition(":")[2])
            seen, enough = [], threading.Event()
            clients = [threading.Thread(target=ask, args=(port, stream, seen, enough)) for stream in range(STREAMS)]
            for client in clients:
                client.start()
            enough.wait()
            if with_keeper:
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
            for client in clients:
                client.join()
        listening.shutdown(socket.SHUT_RDWR)
    with Store.open(store) as opened:
        while not opened.recording(ready["run"]).ended:  # by the keeper, if it lives, or here
            recover(opened)
            time.sleep(0.02)
        kept = [call.model for call in opened.calls(ready["run"])]
        assert opened.check_integrity() == []
    assert set(seen) <= set(kept)
    assert len(kept) == len(set(kept))
    assert len(seen) >= ANSWERS
