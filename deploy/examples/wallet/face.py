"""Serves the wallet's calls as signed JSON requests: `POST /v1/WalletService/<call>`."""

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from motherlode.wallet.v1 import wallet_pb2
from signed import Unsigned

CALLS = ("GetBalance", "Debit", "Credit", "Rollback", "OpenFreeRound", "CloseRound")
BODY_BYTES_MAX = 16_384
IDLE_SECONDS = 30


class Aborted(Exception):
    """Raised to end a call with an error instead of the wallet's answer."""


class Context:
    """Implements the methods of a gRPC context that the wallet calls."""

    def abort(self, code, why):
        raise Aborted(f"{code.name}: {why}")

    def invocation_metadata(self):
        return ()


class Server(ThreadingHTTPServer):
    """Server with one thread per connection, up to a limit; further connections are closed at once."""

    daemon_threads = True

    def __init__(self, address, handler, connections_max):
        self.places = threading.Semaphore(connections_max)
        super().__init__(address, handler)

    def process_request(self, request, client_address):
        if not self.places.acquire(blocking=False):
            return self.shutdown_request(request)
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.places.release()
            raise

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()


def serve(wallet, signatures, listen, pair, connections_max):
    """`pair` is a certificate with its private key; if it is empty, the server uses no TLS."""
    calls = {name: getattr(wallet_pb2, f"{name}Request") for name in CALLS}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        timeout = IDLE_SECONDS

        def do_POST(self):
            name = self.path.removeprefix("/v1/WalletService/")
            length = self.headers.get("Content-Length", "")
            if name not in calls or not length.isascii() or not length.isdigit() or int(length) > BODY_BYTES_MAX:
                self.close_connection = True
                return self.tell(400, {"error": "the call does not exist, or the message is too long"})
            body = self.rfile.read(int(length))
            try:
                signatures.check("POST", self.path, self.headers, body)
                message = json_format.Parse(body, calls[name](), ignore_unknown_fields=True)
                answer = getattr(wallet, name)(message, Context())
            except Unsigned as error:
                return self.tell(401, {"error": str(error)})
            except json_format.ParseError as error:
                return self.tell(400, {"error": str(error)})
            except Aborted as error:
                return self.tell(503, {"error": str(error)})
            self.tell(200, json_format.MessageToDict(answer))

        def tell(self, status, message):
            body = json.dumps(message).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    host, port = listen.rsplit(":", 1)
    server = Server((host, int(port)), Handler, connections_max)
    if pair:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(*pair)
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    return server
