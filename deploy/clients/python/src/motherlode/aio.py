"""Client for asyncio. Cancelling a task ends its retries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import grpc
from grpc import aio

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

if TYPE_CHECKING:
    from motherlode.admin.v1.admin_pb2_grpc import AdminServiceAsyncStub
    from motherlode.jackpot.v1.jackpot_pb2_grpc import JackpotServiceAsyncStub
    from motherlode.job.v1.job_pb2_grpc import JobServiceAsyncStub
    from motherlode.ledger.v1.ledger_pb2_grpc import LedgerServiceAsyncStub
    from motherlode.proof.v1.proof_pb2_grpc import ProofServiceAsyncStub
    from motherlode.report.v1.report_pb2_grpc import ReportServiceAsyncStub
    from motherlode.spin.v1.spin_pb2_grpc import SpinServiceAsyncStub


class AsyncClient:
    """Client with one connection for the tasks of one event loop. Timeouts, retries and errors are those of `Client`."""

    spin: SpinServiceAsyncStub
    ledger: LedgerServiceAsyncStub
    jackpot: JackpotServiceAsyncStub
    report: ReportServiceAsyncStub
    proof: ProofServiceAsyncStub
    job: JobServiceAsyncStub
    admin: AdminServiceAsyncStub

    def __init__(self, target: Target, policy: Policy | None = None) -> None:
        self._closing = asyncio.Event()
        kinds: list[aio.ClientInterceptor] = [
            _Insisting(target, policy or Policy(), self._closing),
            _UnaryStream(target),
            _StreamStream(target),
        ]
        options = target.channel_options()
        if target.plain:
            self._channel = aio.insecure_channel(target.address, options, interceptors=kinds)
        else:
            self._channel = aio.secure_channel(target.address, target.credentials(), options, interceptors=kinds)
        self.spin = SpinServiceStub(self._channel)
        self.ledger = LedgerServiceStub(self._channel)
        self.jackpot = JackpotServiceStub(self._channel)
        self.report = ReportServiceStub(self._channel)
        self.proof = ProofServiceStub(self._channel)
        self.job = JobServiceStub(self._channel)
        self.admin = AdminServiceStub(self._channel)

    async def close(self) -> None:
        """Closes the connection and ends its calls, including those waiting to retry."""
        self._closing.set()
        await self._channel.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _Insisting(aio.UnaryUnaryClientInterceptor):
    def __init__(self, target: Target, policy: Policy, closing: asyncio.Event) -> None:
        self._target, self._policy, self._closing = target, policy, closing

    async def intercept_unary_unary(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        asking = Asking(self._policy, as_text(details.method), request, details.timeout)
        closed = NotSent(grpc.StatusCode.CANCELLED, "the client is closed", request_id=asking.request_id)
        while True:
            if self._closing.is_set():
                asking.give_up(closed)
            call = await continuation(shown(self._target, details, asking.attempt_s()), asking.request)
            try:
                await call
                return call
            except grpc.RpcError as error:
                refused = refusal_of(error, asking.request_id)
            except asyncio.CancelledError:
                if not self._closing.is_set():
                    raise
                asking.lost = True
                asking.give_up(closed)
            wait_s = asking.wait_s(refused)
            try:
                await asyncio.wait_for(self._closing.wait(), wait_s)
            except asyncio.TimeoutError:
                continue
            asking.give_up(refused)


class _UnaryStream(aio.UnaryStreamClientInterceptor):
    def __init__(self, target: Target) -> None:
        self._target = target

    async def intercept_unary_stream(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        return await continuation(shown(self._target, details, details.timeout), request)


class _StreamStream(aio.StreamStreamClientInterceptor):
    def __init__(self, target: Target) -> None:
        self._target = target

    async def intercept_stream_stream(self, continuation: Callable[..., Any], details: Any, requests: Any) -> Any:
        return await continuation(shown(self._target, details, details.timeout), requests)


def as_text(method: str | bytes) -> str:
    return method.decode() if isinstance(method, bytes) else method


def shown(target: Target, details: Any, timeout: float | None) -> aio.ClientCallDetails:
    metadata = aio.Metadata(*target.metadata(list(details.metadata or ())))
    return aio.ClientCallDetails(details.method, timeout, metadata, details.credentials, details.wait_for_ready)
