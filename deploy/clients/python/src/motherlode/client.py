"""Synchronous client, safe to share between threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import grpc

from motherlode.admin.v1.admin_pb2_grpc import AdminServiceStub
from motherlode.connection import Target
from motherlode.errors import NotSent, refusal_of
from motherlode.jackpot.v1.jackpot_pb2_grpc import JackpotServiceStub
from motherlode.job.v1.job_pb2_grpc import JobServiceStub
from motherlode.ledger.v1.ledger_pb2_grpc import LedgerServiceStub
from motherlode.proof.v1.proof_pb2_grpc import ProofServiceStub
from motherlode.report.v1.report_pb2_grpc import ReportServiceStub
from motherlode.retry import Asking, Policy
from motherlode.spin.v1.spin_pb2_grpc import SpinServiceStub


class Client:
    """Client with one connection for any number of threads. `timeout` is the total time of a call's attempts, in seconds.

    Unary calls raise `Refused` or `OutcomeUnknown`. Streams are not retried; they raise gRPC's error (see `refusal_of`).
    """

    spin: SpinServiceStub
    ledger: LedgerServiceStub
    jackpot: JackpotServiceStub
    report: ReportServiceStub
    proof: ProofServiceStub
    job: JobServiceStub
    admin: AdminServiceStub

    def __init__(self, target: Target, policy: Policy | None = None) -> None:
        self._closing = threading.Event()
        if target.plain:
            self._channel = grpc.insecure_channel(target.address, target.channel_options())
        else:
            self._channel = grpc.secure_channel(target.address, target.credentials(), target.channel_options())
        insisting = grpc.intercept_channel(self._channel, _Insisting(target, policy or Policy(), self._closing))
        channel = cast(grpc.Channel, _Unregistered(insisting))
        self.spin = SpinServiceStub(channel)
        self.ledger = LedgerServiceStub(channel)
        self.jackpot = JackpotServiceStub(channel)
        self.report = ReportServiceStub(channel)
        self.proof = ProofServiceStub(channel)
        self.job = JobServiceStub(channel)
        self.admin = AdminServiceStub(channel)

    def close(self) -> None:
        """Closes the connection and ends its calls, including those waiting to retry."""
        self._closing.set()
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Unregistered:
    """Creates calls that are not registered in grpcio, which would register a handle per intercepted call, and crash if
    the channel is closed."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel

    def __getattr__(self, kind: str) -> Callable[..., Any]:
        create = getattr(self._channel, kind)

        def unregistered(*given: Any, _registered_method: bool = False, **named: Any) -> Any:
            return create(*given, **named)

        return unregistered


class _Details(NamedTuple):
    method: str
    timeout: float | None
    metadata: Any
    credentials: Any
    wait_for_ready: bool | None
    compression: Any


class _Insisting(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    def __init__(self, target: Target, policy: Policy, closing: threading.Event) -> None:
        self._target, self._policy, self._closing = target, policy, closing

    def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        asking = Asking(self._policy, details.method, request, details.timeout)
        while True:
            self._check_open(asking)
            call = continuation(self._shown(details, asking.attempt_s()), asking.request)
            try:
                call.result()
                return call
            except grpc.RpcError as error:
                refused = refusal_of(error, asking.request_id)
            except ValueError:
                # Another thread closed the channel after `_closing` was checked.
                self._check_open(asking)
                raise
            if self._closing.is_set():
                asking.lost = True
                asking.give_up(refused)
            if self._closing.wait(asking.wait_s(refused)):
                asking.give_up(refused)

    def _check_open(self, asking: Asking | None = None) -> None:
        if self._closing.is_set():
            closed = NotSent(grpc.StatusCode.CANCELLED, "the client is closed", request_id=asking.request_id if asking else "")
            if asking:
                asking.give_up(closed)
            raise closed

    def intercept_unary_stream(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        self._check_open()
        return continuation(self._shown(details, details.timeout), request)

    def intercept_stream_stream(self, continuation: Callable[..., Any], details: Any, requests: Any) -> Any:
        self._check_open()
        return continuation(self._shown(details, details.timeout), requests)

    def _shown(self, details: Any, timeout: float | None) -> _Details:
        metadata = self._target.metadata(details.metadata)
        return _Details(details.method, timeout, metadata, details.credentials, details.wait_for_ready, details.compression)
