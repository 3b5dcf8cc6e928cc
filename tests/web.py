"""A real web server on this machine: it serves a folder, remembers what it was asked, and misbehaves as it is told."""

import hashlib
import re
import ssl
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class Answer:
    """How one request is answered; the default is what a good server does."""

    status: int | None = None  # this and no content
    headers: dict[str, str] = field(
        default_factory=dict
    )  # instead of, or beside, the usual ones; empty ones are left out
    cut_after: int | None = None  # bytes of the body, then the connection is closed
    ranges: bool = True  # else the whole file, whatever was asked
    length: bool = True  # else the end of the connection is the end of the file
    content: bytes | None = None  # instead of the file's
    content_status: int | None = None  # with a body, instead of 200 or 206
    hold_after: tuple[int, threading.Event] | None = None  # bytes of the body, then silence until the event


@dataclass
class Asked:
    path: str
    headers: dict[str, str]  # names in lower case


class Web:
    def __init__(self, folder: Path, server: ThreadingHTTPServer, scheme: str) -> None:
        self.folder = folder
        self.origin = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        self.asked: list[Asked] = []
        self.sent = 0  # bytes of bodies
        self._next: dict[str, list[Answer]] = defaultdict(list)
        self._always: dict[str, Answer] = {}

    def address(self, path: str) -> str:
        return f"{self.origin}/{path}"

    def next(self, path: str, *answers: Answer) -> None:
        """So the next requests for this path are answered, one each."""
        self._next[f"/{path}"] += answers

    def always(self, path: str, answer: Answer) -> None:
        self._always[f"/{path}"] = answer

    def answer(self, path: str) -> Answer:
        waiting = self._next[path]
        return waiting.pop(0) if waiting else self._always.get(path, Answer())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: Web

    def log_message(self, *arguments: object) -> None:
        pass

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)  # a proxy is asked with the whole address
        self.web.asked.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}))
        answer = self.web.answer(path)
        if answer.status is not None:
            self._head(answer.status, {"Content-Length": "0"} | answer.headers)
            return
        file = self.web.folder / path.lstrip("/")
        if answer.content is None and not file.is_file():
            self._head(404, {"Content-Length": "0"})
            return
        self._body(file.read_bytes() if answer.content is None else answer.content, answer)

    def _body(self, content: bytes, answer: Answer) -> None:
        tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        headers = {"ETag": tag, "Last-Modified": formatdate(0, usegmt=True), "Accept-Ranges": "bytes"} | answer.headers
        status, start = 200, self._start(headers) if answer.ranges else 0
        if start >= len(content) > 0:
            self._head(416, {"Content-Range": f"bytes */{len(content)}", "Content-Length": "0"})
            return
        if start:
            status = 206
            headers = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} | headers
        if answer.length:
            headers = {"Content-Length": str(len(content) - start)} | headers
        self._head(answer.content_status or status, headers)
        self.close_connection = self.close_connection or not answer.length or answer.cut_after is not None
        self._send(content[start:] if answer.cut_after is None else content[start:][: answer.cut_after], answer)

    def _send(self, content: bytes, answer: Answer) -> None:
        first, event = answer.hold_after or (len(content), None)
        self.wfile.write(content[:first])
        self.web.sent += len(content[:first])
        if event:
            self.wfile.flush()
            event.wait(30)
            self.wfile.write(content[first:])

    def _start(self, headers: dict[str, str]) -> int:
        """Of the range asked for, unless If-Range names another version."""
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        if not asked or condition not in (None, headers["ETag"], headers["Last-Modified"]):
            return 0
        return int(asked[1])

    def _head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if value:
                self.send_header(name, value)
        self.end_headers()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *arguments: object) -> None:
        """A client that goes away is no news here."""


@contextmanager
def serving(folder: Path, certificate: Path | None = None) -> Iterator[Web]:
    """Over https if there is a certificate, a PEM file with its key."""
    handler = type("Handler", (_Handler,), {})
    server = _Server(("127.0.0.1", 0), handler)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    handler.web = web = Web(folder, server, "https" if certificate else "http")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def self_signed(path: Path) -> Path:
    """A certificate of 127.0.0.1 that nobody trusts yet, with its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(IPv4Address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path
