import asyncio
import os
import re
import socket
import subprocess
import sys
import tarfile
import threading
import time
import zipfile

import pytest
from conftest import PYTHON
from playing import PATIENT, account, balance, bet, between, plain, rounds
from proxy import BUSY, BUSY_S, DOWN, LOSE, SILENT, Breaking, Freezing

from motherlode import AsyncClient, Client, Conflict, NotSent, OutcomeUnknown, Policy, Target, Unauthenticated
from motherlode.ledger.v1.ledger_pb2 import DepositRequest, FollowLogRequest, GetRequestRequest, OpenAccountRequest, RequestOutcome
from motherlode.job.v1.job_pb2 import ListJobsRequest
from motherlode.round.v1.round_pb2 import Account
from motherlode.spin.v1.spin_pb2 import SpinRequest

RECOVERY_S = 15.0
EXAMPLES = re.findall(r"```python\n(.*?)```", (PYTHON / "README.md").read_text(), re.S)


async def asynchronously(target, policy, call):
    async with AsyncClient(target, policy) as client:
        return await call(client)


def synchronously(target, policy, call):
    with Client(target, policy) as client:
        return call(client)


@pytest.fixture(params=["threads", "asyncio"])
def ask(request):
    if request.param == "threads":
        return synchronously
    return lambda *given: asyncio.run(asynchronously(*given))


def test_the_example_runs_as_it_stands(service, capsys):
    exec(compile(EXAMPLES[0].replace("127.0.0.1:50051", service.address), "README.md", "exec"), {})
    assert re.fullmatch(r"demo/[0-9a-f-]{36}/1 \d+ \d+\n", capsys.readouterr().out)


def test_the_examples_and_the_package_are_typed(built, tmp_path):
    (tmp_path / "first.py").write_text(EXAMPLES[0])
    given = "from motherlode import Client\nfrom motherlode.spin.v1.spin_pb2 import SpinRequest\nclient: Client\nbet: SpinRequest\n"
    (tmp_path / "lost.py").write_text(given + EXAMPLES[1])
    awaited = 'from motherlode import AsyncClient, Target\nfrom motherlode.spin.v1.spin_pb2 import SpinRequest, SpinResponse\n\n\n'
    awaited += 'async def spin() -> SpinResponse:\n    async with AsyncClient(Target("h:1")) as client:\n'
    (tmp_path / "awaited.py").write_text(awaited + "        return await client.spin.Spin(SpinRequest())\n")
    (tmp_path / "wrong.py").write_text(awaited.replace("-> SpinResponse", "-> int") + "        return await client.spin.Spin(SpinRequest())\n")
    environment = {**os.environ, "MYPYPATH": str(built / "site")}
    command = [sys.executable, "-m", "mypy", "--config-file", PYTHON / "pyproject.toml", "--cache-dir", tmp_path / "cache"]
    for what in (["first.py", "lost.py", "awaited.py"], ["-p", "motherlode"]):
        checked = subprocess.run([*command, *what], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
        assert checked.returncode == 0, checked.stdout
    checked = subprocess.run([*command, "wrong.py"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    assert "Incompatible return value" in checked.stdout


def test_it_is_ready_to_publish(built, pytestconfig):
    warnings = [line for line in pytestconfig.said.splitlines() if re.search("warning|deprecat", line, re.I)]
    assert [line for line in warnings if "byte-compiling is disabled" not in line] == []
    (wheel,), (source,) = (built / "dist").glob("*.whl"), (built / "dist").glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        described = files.read(metadata).decode()
    assert "License-Expression: MIT OR Apache-2.0" in described
    for name in ["py.typed", "spin/v1/spin_pb2.pyi", "spin/v1/spin_pb2_grpc.pyi", "ledger/v1/__init__.py", "retry.py"]:
        assert f"motherlode/{name}" in names
    assert {name.rpartition("/")[2] for name in names if "/licenses/" in name} == {"LICENSE-MIT", "LICENSE-APACHE"}
    assert wheel.name.endswith("-py3-none-any.whl")
    # The Python package contains generated code but no protos or generators, so its users need no compiler.
    with tarfile.open(source) as files:
        assert any(name.endswith("src/motherlode/spin/v1/spin_pb2_grpc.py") for name in files.getnames())
        assert not any(name.endswith(".proto") for name in files.getnames())


@pytest.mark.parametrize("act", [LOSE, SILENT])
def test_pl_11_a_bet_whose_answer_was_lost_is_one_round_however_often_it_is_sent(service, account, ask, act):
    policy = Policy(total_s=120.0, attempt_s=0.5, first_wait_s=0.01)
    with between(service, act, act) as proxy:
        played = ask(plain(proxy.address), policy, lambda client: client.spin.Spin(bet(account))).played
        assert len(proxy.seen) >= 3
        assert len(set(proxy.seen)) == 1
    assert [known.round_id for known in rounds(service, account)] == [played.round_id]


def test_pl_11_a_bet_whose_connections_broke_at_its_answer_is_one_round(service, account, ask):
    breaking = Breaking(service.address, 2)
    try:
        played = ask(plain(breaking.address), PATIENT, lambda client: client.spin.Spin(bet(account))).played
    finally:
        breaking.close()
    assert breaking.connections == 3
    assert [known.round_id for known in rounds(service, account)] == [played.round_id]


def test_pl_11_an_id_that_was_used_for_another_content_is_no_reason_to_ask_again(service, account, ask):
    with between(service) as proxy:
        ask(plain(proxy.address), PATIENT, lambda client: client.spin.Spin(bet(account, "r-1")))
        with pytest.raises(Conflict) as raised:
            ask(plain(proxy.address), PATIENT, lambda client: client.spin.Spin(bet(account, "r-1", lines=10)))
        assert (raised.value.reason, raised.value.request_id) == ("REQUEST_ID_REUSED", "r-1")
        assert len(proxy.seen) == 2


def test_unavailable_is_asked_again(service, account, ask):
    with between(service, DOWN, DOWN, DOWN) as proxy:
        ask(plain(proxy.address), PATIENT, lambda client: client.spin.Spin(bet(account, "r-1")))
        assert len(proxy.seen) == 4


def test_the_service_is_asked_again_no_sooner_than_it_says(service, account, ask):
    with between(service, BUSY, BUSY) as proxy:
        before_s = time.monotonic()
        ask(plain(proxy.address), PATIENT, lambda client: client.spin.Spin(bet(account)))
        assert time.monotonic() - before_s >= 2 * BUSY_S
        assert len(proxy.seen) == 3


def test_pl_33_what_is_unknown_at_the_deadline_can_be_looked_up(service, account, ask):
    with between(service, *[SILENT] * 100) as proxy:
        with pytest.raises(OutcomeUnknown) as raised:
            ask(plain(proxy.address), Policy(attempt_s=0.5), lambda client: client.spin.Spin(bet(account), timeout=1.5))
        proxy.lost.get(timeout=60)
    look_up = GetRequestRequest(account=account, request_id=raised.value.request_id)
    known = ask(plain(service.address), PATIENT, lambda client: client.ledger.GetRequest(look_up)).outcome
    assert known.state == RequestOutcome.STATE_APPLIED
    assert [known.round.round_id] == [one.round_id for one in rounds(service, account)]


def test_a_silent_connection_is_replaced_within_its_calls_deadline(service, account):
    freezing = Freezing(service.address)
    deposit = DepositRequest(account=account, amount_minor=1)
    try:
        with Client(plain(freezing.address)) as client:
            client.ledger.Deposit(deposit)
            freezing.freeze()
            client.ledger.Deposit(deposit, timeout=RECOVERY_S)
            freezing.freeze()
            client.ledger.Deposit(deposit, timeout=RECOVERY_S)

        async def asynchronous():
            async with AsyncClient(plain(freezing.address)) as client:
                await client.ledger.Deposit(deposit)
                freezing.freeze()
                await client.ledger.Deposit(deposit, timeout=RECOVERY_S)

        asyncio.run(asynchronous())
    finally:
        freezing.close()
    assert balance(service, account) == 10_005


def test_pl_33_a_call_without_a_connection_is_not_sent(service, protected, ask, tmp_path):
    secure = protected.address.replace("127.0.0.1", "localhost")
    with socket.create_server(("127.0.0.1", 0)) as free:
        unused = "127.0.0.1:%d" % free.getsockname()[1]
    other = tmp_path / "other.pem"
    options = "-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout /dev/null"
    subprocess.run(["openssl", "req", *options.split(), "-out", other], check=True, stderr=subprocess.DEVNULL)
    targets = [plain(unused), Target(secure, ca=other.read_bytes()), plain(protected.address), Target("nohost.invalid:1")]
    for target in [*targets, Target(service.address, ca=protected.certificate.read_bytes())]:
        with pytest.raises(NotSent) as raised:
            ask(target, Policy(total_s=0.5), lambda client: client.spin.Spin(bet(Account(), "r-1")))
        assert raised.value.request_id == "r-1"


def test_a_client_is_not_used_after_its_close(service):
    client = Client(plain(service.address), PATIENT)
    client.job.ListJobs(ListJobsRequest())
    client.close()
    with pytest.raises(NotSent, match="closed"):
        client.job.ListJobs(ListJobsRequest())
    with pytest.raises(NotSent, match="closed"):
        next(iter(client.ledger.FollowLog(FollowLogRequest())))

    async def asynchronous():
        async with AsyncClient(plain(service.address), PATIENT) as client:
            await client.job.ListJobs(ListJobsRequest())
        with pytest.raises(NotSent, match="closed"):
            await client.job.ListJobs(ListJobsRequest())

    asyncio.run(asynchronous())


def test_calls_of_many_threads_during_a_close_end_without_a_crash(service, account):
    ends = []

    def deposit(client, first):
        try:
            while True:
                client.ledger.Deposit(DepositRequest(account=account, amount_minor=1))
                first.set()
        except (NotSent, OutcomeUnknown) as ended:
            ends.append(ended)

    for _ in range(5):
        client, first = Client(plain(service.address), PATIENT), threading.Event()
        threads = [threading.Thread(target=deposit, args=(client, first)) for _ in range(8)]
        for thread in threads:
            thread.start()
        first.wait(timeout=60)
        client.close()
        for thread in threads:
            thread.join()
    assert len(ends) == 40


def test_a_cancelled_task_asks_no_more(service, account):
    async def cancelled(address, proxy):
        async with AsyncClient(plain(address), PATIENT) as client:
            call = asyncio.ensure_future(asynchronous_spin(client))
            await asyncio.to_thread(proxy.lost.get, timeout=60)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

    async def asynchronous_spin(client):
        return await client.spin.Spin(bet(account))

    with between(service, SILENT) as proxy:
        asyncio.run(cancelled(proxy.address, proxy))
        assert len(proxy.seen) == 1


def test_a_client_that_is_closed_asks_no_more(service, account):
    raised = []
    with between(service, SILENT) as proxy:
        client = Client(plain(proxy.address), PATIENT)

        def spin():
            try:
                client.spin.Spin(bet(account, "r-1"))
            except OutcomeUnknown as unknown:
                raised.append(unknown.request_id)

        asking = threading.Thread(target=spin)
        asking.start()
        proxy.lost.get(timeout=60)
        client.close()
        asking.join()
        assert raised == ["r-1"]
        assert len(proxy.seen) == 1


def test_pl_27_over_tls_with_a_token(protected, ask):
    account = Account(operator_id="acme", player_id="alice", currency_code="EUR")
    opening = OpenAccountRequest(account=account, request_id="open")
    right = Target(protected.address.replace("127.0.0.1", "localhost"), protected.token, protected.certificate.read_bytes())
    ask(right, PATIENT, lambda client: client.ledger.OpenAccount(opening))
    wrong = Target(right.address, "another", right.ca)
    with pytest.raises(Unauthenticated) as raised:
        ask(wrong, PATIENT, lambda client: client.ledger.OpenAccount(opening))
    assert raised.value.reason == "TOKEN_UNKNOWN"


def test_pl_27_over_tls_with_a_client_certificate(mutual, ask):
    opening = OpenAccountRequest(account=Account(operator_id="acme", player_id="alice", currency_code="EUR"), request_id="open")
    address, ca = mutual.address.replace("127.0.0.1", "localhost"), mutual.certificate.read_bytes()
    own = Target(address, ca=ca, certificate=mutual.own.read_bytes(), key=mutual.own_key.read_bytes())
    ask(own, PATIENT, lambda client: client.ledger.OpenAccount(opening))
    with pytest.raises(Unauthenticated) as raised:
        ask(Target(address, ca=ca), PATIENT, lambda client: client.ledger.OpenAccount(opening))
    assert raised.value.reason == "TOKEN_MISSING"


def test_streams_have_the_token_too(protected):
    right = Target(protected.address.replace("127.0.0.1", "localhost"), protected.token, protected.certificate.read_bytes())
    account = Account(operator_id="acme", player_id="bob", currency_code="EUR")

    async def first():
        async with AsyncClient(right, PATIENT) as client:
            await client.ledger.OpenAccount(OpenAccountRequest(account=account))
            async for told in client.ledger.FollowLog(FollowLogRequest()):
                return told.operator_id

    assert asyncio.run(first()) == "acme"
    with Client(right, PATIENT) as client:
        following = client.ledger.FollowLog(FollowLogRequest())
        assert next(iter(following)).operator_id == "acme"
        following.cancel()
