import queue
import socket
import struct
import threading
from concurrent import futures

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2

PASS = "pass"
# The service commits the call; the caller gets UNAVAILABLE (`LOSE`) or no answer (`SILENT`).
LOSE, SILENT = "lose", "silent"
# The service does not receive the call; the caller gets UNAVAILABLE (`DOWN`), or RESOURCE_EXHAUSTED with RetryInfo
# (`BUSY`).
DOWN, BUSY = "down", "busy"
BUSY_S = 0.2


class Proxy(grpc.GenericRpcHandler):
    def __init__(self, target, method, *acts):
        self.method, self.acts, self.seen = method, list(acts), []
        self.lock = threading.Lock()
        self.lost = queue.Queue()
        self.ended = threading.Event()
        self.channel = grpc.insecure_channel(target, [("grpc.use_local_subchannel_pool", 1)])
        self.server = grpc.server(futures.ThreadPoolExecutor(16), [self])
        self.address = "127.0.0.1:%d" % self.server.add_insecure_port("127.0.0.1:0")
        self.server.start()

    def service(self, called):
        def handle(message, context):
            return self.handle(called.method, message, context)

        return grpc.unary_unary_rpc_method_handler(handle)

    def handle(self, method, message, context):
        act = PASS
        if method.endswith(f"/{self.method}"):
            with self.lock:
                self.seen.append(message)
                act = self.acts.pop(0) if self.acts else PASS
        if act == DOWN:
            context.abort(grpc.StatusCode.UNAVAILABLE, "no service")
        if act == BUSY:
            self.refuse_for_now(context)
        try:
            answer = self.channel.unary_unary(method)(message, metadata=bearer(context), wait_for_ready=True)
        except grpc.RpcError as error:
            context.set_trailing_metadata([pair for pair in error.trailing_metadata() if pair[0] == "grpc-status-details-bin"])
            context.abort(error.code(), error.details())
        if act == PASS:
            return answer
        self.lost.put(answer)
        if act == SILENT:
            given_up = threading.Event()
            if context.add_callback(given_up.set):
                given_up.wait()
        context.abort(grpc.StatusCode.UNAVAILABLE, "the answer was lost")

    def refuse_for_now(self, context):
        status = status_pb2.Status(code=grpc.StatusCode.RESOURCE_EXHAUSTED.value[0], message="too many")
        status.details.add().Pack(error_details_pb2.ErrorInfo(domain="motherlode", reason="RATE_LIMITED"))
        wait = Duration()
        wait.FromMilliseconds(int(BUSY_S * 1000))
        status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=wait))
        context.set_trailing_metadata([("grpc-status-details-bin", status.SerializeToString())])
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "too many")

    def close(self):
        self.server.stop(None).wait()
        self.channel.close()


def bearer(context):
    return [(key, value) for key, value in context.invocation_metadata() if key == "authorization"]


class Breaking:
    GREETING_BYTES = 200

    def __init__(self, target, breaks):
        self.target, self.breaks, self.connections = target, breaks, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        host, _, port = self.target.rpartition(":")
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            service = socket.create_connection((host, int(port)))
            threading.Thread(target=pass_on, args=(caller, service), daemon=True).start()
            bytes_max = self.GREETING_BYTES if self.connections <= self.breaks else float("inf")
            threading.Thread(target=pass_on, args=(service, caller, bytes_max), daemon=True).start()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Freezing:
    def __init__(self, target):
        self.target, self.links, self.frozen = target, [], 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        host, _, port = self.target.rpartition(":")
        while True:
            try:
                caller, _ = self.listener.accept()
            except OSError:
                return
            service = socket.create_connection((host, int(port)))
            link = [caller, service]
            self.links.append(link)
            for source, drain in [(caller, service), (service, caller)]:
                threading.Thread(target=self.forward, args=(link, source, drain), daemon=True).start()

    def forward(self, link, source, drain):
        try:
            while came := source.recv(65536):
                if self.links.index(link) >= self.frozen:
                    drain.sendall(came)
            if self.links.index(link) < self.frozen:
                return
        except OSError:
            pass
        drain.close()

    def freeze(self):
        self.frozen = len(self.links)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def pass_on(source, drain, bytes_max=float("inf")):
    passed = 0
    try:
        while (came := source.recv(65536)) and (passed := passed + len(came)) <= bytes_max:
            drain.sendall(came)
    except OSError:
        pass
    for end in [drain, source]:
        try:
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.shutdown(socket.SHUT_RD)
        except OSError:
            pass
        end.close()
