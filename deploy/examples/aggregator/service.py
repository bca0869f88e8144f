"""Connection to Motherlode with TLS, a token and retries.

`ask` sends the same message and request id until the service answers (PL-11).
"""

import threading
import time
from collections import Counter

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from motherlode.jackpot.v1 import jackpot_pb2_grpc
from motherlode.ledger.v1 import ledger_pb2_grpc
from motherlode.spin.v1 import spin_pb2_grpc

TRIES_MAX = 20
FIRST_WAIT_S, WAIT_MAX_S = 0.05, 1.0

# Statuses that can mean a lost answer.
LOST = {
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.CANCELLED,
    grpc.StatusCode.UNKNOWN,
    grpc.StatusCode.INTERNAL,
}


class Refused(Exception):
    def __init__(self, error):
        super().__init__(f"{error.code().name}: {error.details()}")
        self.code, self.reason, self.metadata, self.retry_s = error.code(), "", {}, None
        status = rpc_status.from_call(error)
        for detail in status.details if status else []:
            info, retry = error_details_pb2.ErrorInfo(), error_details_pb2.RetryInfo()
            if detail.Unpack(info):
                self.reason, self.metadata = info.reason, dict(info.metadata)
                self.args = (f"{info.reason}: {error.details()} {self.metadata}",)
            elif detail.Unpack(retry):
                self.retry_s = retry.retry_delay.ToMilliseconds() / 1000

    def may_pass(self):
        return self.retry_s is not None or self.code in LOST or self.code == grpc.StatusCode.RESOURCE_EXHAUSTED


class Service:
    """Connection shared by all threads."""

    def __init__(self, address, ca, token, name=None, answer_s=5.0):
        credentials = grpc.composite_channel_credentials(
            grpc.ssl_channel_credentials(ca), grpc.access_token_call_credentials(token)
        )
        options = [
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.initial_reconnect_backoff_ms", 50),
            ("grpc.min_reconnect_backoff_ms", 200),
            ("grpc.max_reconnect_backoff_ms", 1000),
        ]
        if name:
            options.append(("grpc.ssl_target_name_override", name))
        self.channel = grpc.secure_channel(address, credentials, options)
        self.spins = spin_pb2_grpc.SpinServiceStub(self.channel)
        self.ledger = ledger_pb2_grpc.LedgerServiceStub(self.channel)
        self.jackpot = jackpot_pb2_grpc.JackpotServiceStub(self.channel)
        self.answer_s = answer_s
        self.lost = Counter()
        self.counting = threading.Lock()

    def close(self):
        self.channel.close()

    def ask(self, call, request):
        """Makes a call with retries; raises Refused if the service refuses the call."""
        for wait_s in waits():
            try:
                return call(request, timeout=self.answer_s, wait_for_ready=True)
            except grpc.RpcError as error:
                self.pause(error, wait_s)
        raise TimeoutError(f"no answer to {type(request).__name__} in {TRIES_MAX} tries")

    def pause(self, error, wait_s):
        refused = Refused(error)
        if not refused.may_pass():
            raise refused from None
        with self.counting:
            self.lost[refused.reason or refused.code.name] += 1
        time.sleep(refused.retry_s or wait_s)


def waits():
    return [min(FIRST_WAIT_S * 2**number, WAIT_MAX_S) for number in range(TRIES_MAX)]
