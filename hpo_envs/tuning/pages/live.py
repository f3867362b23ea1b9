"""Live page of a running search, served over HTTP and reloaded by browsers.

No other module listens on a port. The server answers GET requests with a single page, rendered from the record on disk,
and changes nothing.
"""

import hmac
import html
import ipaddress
import re
import secrets
import socket
import sys
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from hpo_envs.tables.checks import shown
from hpo_envs.tuning.pages import page
from hpo_envs.tuning.record import NAME, REPORTS
from hpo_envs.tuning.tuned import load

REFRESH = 3
"""Seconds between reloads by the browser."""

LOOPBACK = "127.0.0.1"


class LivePage(ThreadingHTTPServer):
    """HTTP server of the page of a search; browsers reload the page automatically.

    Args:
        folder: Folder of the search, which need not have begun.
        port: Port to listen on; 0: any free one.
        host: Address to listen on; for any other than a loopback address, the URL contains a random token.

    Attributes:
        open: Whether it listens on another address than a loopback address.
        token: Random token that requests must contain; empty on a loopback address.
        url: URL of the page, with the token if there is one.

    Raises:
        ValueError: The folder does not exist, the port is not from 0 to 65535, or `host` is not an IP address.
        OSError: The port or the address is not available.
    """

    daemon_threads = True

    def __init__(self, folder: Path | str, port: int = 0, host: str = LOOPBACK) -> None:
        self._folder = Path(folder)
        if not self._folder.is_dir():
            raise ValueError(f"folder must be that of a search, got {self._folder}")
        if not 0 <= port < 2**16:
            raise ValueError(f"port must be from 0 to 65535, got {port}")
        try:
            self.open = not ipaddress.ip_address(host).is_loopback
        except ValueError:
            raise ValueError(f"host must be an IP address, got {shown(host)}") from None
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.token = secrets.token_urlsafe(24) if self.open else ""
        self._made: tuple[Any, bytes] = (None, b"")
        self._lock = threading.Lock()
        super().__init__((host, port), _Handler)
        name = f"[{host}]" if ":" in host else host
        self.url = f"http://{name}:{self.server_address[1]}/" + (f"?token={self.token}" if self.open else "")

    def content(self) -> bytes:
        """Return the page as UTF-8 HTML, rendered again only if the search has changed; a note before it begins."""
        files = [self._folder / NAME, *sorted((self._folder / REPORTS).glob("*"))]
        state = [(path.name, path.stat().st_size) for path in files if path.is_file()]
        with self._lock:
            if self._made[0] != state:
                text = page.render(load(self._folder)) if files[0].is_file() else "<p>The search has not begun.</p>"
                self._made = state, text.encode()
            return self._made[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback of an error, unless a client disconnected or sent an invalid request."""
        if not isinstance(sys.exception(), (ConnectionError, ValueError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Handler of requests, which must have the token or, on a loopback address, a local host name."""

    server: LivePage
    server_version, sys_version = "hpo_envs", ""
    timeout = 30

    def do_GET(self) -> None:
        """Send the page, or an error status."""
        target = urlsplit(self.path)
        token = parse_qs(target.query).get("token", [""])[0]
        # A foreign page whose name resolves to this machine sends its own name as host.
        name = re.sub(r":\d*$", "", self.headers.get("Host", "")).strip("[]").lower()
        local = name in ("localhost", self.server.server_address[0])
        known = hmac.compare_digest(token.encode(), self.server.token.encode()) if self.server.open else local
        if not known or target.path != "/":
            self.send_error(HTTPStatus.FORBIDDEN if not known else HTTPStatus.NOT_FOUND)
            return
        status = HTTPStatus.OK
        try:
            body = self.server.content()
        except Exception as error:  # of whatever is wrong with the files, which may be mended before the next reload
            status, body = HTTPStatus.INTERNAL_SERVER_ERROR, html.escape(f"{error}").encode(errors="backslashreplace")
        self.send_response(status)
        headers = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body))}
        headers |= {"Refresh": str(REFRESH), "Cache-Control": "no-store"}
        headers |= {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Suppress the log of requests."""
