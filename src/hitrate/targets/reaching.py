"""Reaching a target: whose certificates are taken, and why a connection failed, in words."""

from __future__ import annotations

import errno
import socket
import ssl


def tls_context() -> ssl.SSLContext:
    """Certificates are checked against the system's store, or the one `SSL_CERT_FILE` or `SSL_CERT_DIR` names."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def why_not_connected(error: Exception, timeout_s: float) -> str:
    """What to tell of an OSError or TimeoutError met while connecting."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"TLS certificate refused: {error.verify_message}"
        case ssl.SSLError():
            return f"TLS handshake failed: {error.reason or error}"
        case TimeoutError() if error.errno is None:
            return f"no connection in {timeout_s:g} s"
        case socket.gaierror():
            return f"host name not found ({error.strerror})"
        case OSError() if error.errno == errno.ECONNREFUSED or f"[Errno {errno.ECONNREFUSED}]" in str(error):
            return "connection refused"  # a name with several addresses gives one OSError without errno for all
        case OSError():
            return error.strerror or str(error) or type(error).__name__
    return str(error)
