import json
import re
import shutil
import socket
import subprocess
import tarfile
import time
from pathlib import Path

import pytest
from conftest import ROOT
from google.protobuf.json_format import MessageToDict, ParseDict
from playing import account, balance, bet, between, rounds
from proxy import BUSY, BUSY_S, DOWN, LOSE, SILENT, Breaking, Freezing

from motherlode.ledger.v1 import ledger_pb2
from motherlode.ledger.v1.ledger_pb2 import FollowLogRequest, FollowLogResponse, GetRequestRequest, OpenAccountRequest, OpenAccountResponse
from motherlode.round.v1.round_pb2 import Account
from motherlode.spin.v1.spin_pb2 import SpinResponse

TYPESCRIPT = ROOT / "deploy/clients/typescript"
HERE = Path(__file__).parent
NODE = 20
PATIENT = {"totalMs": 120_000, "attemptMs": 60_000, "firstWaitMs": 10}
EXAMPLES = re.findall(r"```ts\n(.*?)```", (TYPESCRIPT / "README.md").read_text(), re.S)
UNREACHABLE = re.compile(r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|E40[34]|E50\d|ETARGET)\b")


def npm(folder, *command):
    told = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--prefer-offline", "--no-audit", "--no-fund"]
    ran = subprocess.run(["npm", *command, *told], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ran.returncode != 0 and (unreachable := UNREACHABLE.search(ran.stdout)):
        pytest.skip(f"npm cannot fetch packages on this machine: {unreachable[0]}")
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


@pytest.fixture(scope="session")
def tarball(tmp_path_factory):
    for needed in ["node", "npm"]:
        if not shutil.which(needed):
            pytest.skip(f"{needed} is not installed")
    version = subprocess.run(["node", "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < NODE:
        pytest.skip(f"node is {version}, but the client needs {NODE}")
    root = tmp_path_factory.mktemp("typescript")
    for linked in ["LICENSE-APACHE", "LICENSE-MIT", "proto"]:
        (root / linked).symlink_to(ROOT / linked)
    folder = root / "deploy/clients/typescript"
    mine = shutil.ignore_patterns("node_modules", "dist", "gen", "*.tgz")
    shutil.copytree(TYPESCRIPT, folder, symlinks=True, ignore=mine)
    npm(folder, "ci")
    npm(folder, "pack")
    (packed,) = folder.glob("*.tgz")
    return packed


@pytest.fixture(scope="session")
def user(tarball):
    folder = tarball.parent / "user"
    installed = folder / "node_modules/motherlode-client"
    installed.mkdir(parents=True)
    with tarfile.open(tarball) as files:
        files.extractall(installed, filter="data")
    installed.joinpath("package").rename(folder / "unpacked")
    installed.rmdir()
    (folder / "unpacked").rename(installed)
    (folder / "package.json").write_text('{"type": "module"}')
    for own in ["driver.mjs", "asking.test.mjs", "frozen.mjs"]:
        shutil.copy(HERE / own, folder)
    return folder


class Thrown(Exception):
    def __init__(self, told):
        super().__init__(str(told))
        self.kinds, self.request_id, self.reason = told["kinds"], told.get("requestId"), told.get("reason")
        self.told = told


class Driver:
    def __init__(self, folder):
        self.process = subprocess.Popen(["node", "driver.mjs"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def tell(self, **line):
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def hear(self, answer):
        line = self.process.stdout.readline()
        assert line, "the driver ended"
        told = json.loads(line)
        assert "broken" not in told, told["broken"]
        if "thrown" in told:
            raise Thrown(told["thrown"])
        assert told.get("unchanged", True), "the caller's message was changed"
        return ParseDict(told["answer"], answer)

    def ask(self, answer, target, method, request, policy=None, service="spin", timeout_ms=None):
        self.begin(target, method, request, policy, service, timeout_ms)
        return self.hear(answer)

    def begin(self, target, method, request, policy=None, service="spin", timeout_ms=None):
        policy = PATIENT if policy is None else policy
        if isinstance(target, str):
            target = {"address": target, "plain": True}
        self.tell(target=target, policy=policy, service=service, method=method, request=MessageToDict(request), timeoutMs=timeout_ms)

    def spin(self, address, request, **how):
        return self.ask(SpinResponse(), address, "spin", request, **how).played


@pytest.fixture(scope="session")
def driver(user):
    driver = Driver(user)
    yield driver
    driver.process.stdin.close()
    assert driver.process.wait(timeout=60) == 0
    driver.process.stdout.close()


def node(folder, *command):
    ran = subprocess.run(["node", *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert ran.returncode == 0, ran.stdout
    return ran.stdout


def compiled(folder, **sources):
    for name, source in sources.items():
        (folder / f"{name}.ts").write_text(source)
    options = {**json.loads((TYPESCRIPT / "tsconfig.json").read_text())["compilerOptions"], "rootDir": ".", "outDir": "made", "declaration": False}
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "files": [f"{name}.ts" for name in sources]}))
    compiler = folder.parent / "node_modules/typescript/bin/tsc"
    return subprocess.run(["node", compiler], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def test_the_examples_are_typed_and_the_first_runs_as_it_stands(user, service):
    given = 'import type { Client } from "motherlode-client";\nimport type { SpinRequest } from "motherlode-client/spin/v1/spin_pb";\n'
    given += "declare const client: Client;\ndeclare const bet: SpinRequest;\n"
    wrong = given + "export const won: number | undefined = (await client.spin.spin(bet)).played?.win?.amountMinor;\n"
    first = EXAMPLES[0].replace("127.0.0.1:50051", service.address)
    (said,) = (line for line in compiled(user, first=first, lost=given + EXAMPLES[1], wrong=wrong).splitlines() if line[:1].strip())
    assert re.match(r"wrong\.ts\(.*Type 'bigint( \| undefined)?' is not assignable to type 'number", said), said
    assert re.fullmatch(r"demo/[0-9a-f-]{36}/1 \d+ \d+\n", node(user, "made/first.js"))


def test_it_is_ready_to_publish(tarball):
    with tarfile.open(tarball) as files:
        names = {name.removeprefix("package/") for name in files.getnames()}
        described = json.load(files.extractfile("package/package.json"))
        texts = [files.extractfile(name).read() for name in files.getnames()]
    assert (described["name"], described["license"]) == ("motherlode-client", "MIT OR Apache-2.0")
    for name in ["index.js", "index.d.ts", "retry.js", "gen/motherlode/spin/v1/spin_pb.js", "gen/motherlode/spin/v1/spin_pb.d.ts"]:
        assert f"dist/{name}" in names
    assert {"README.md", "package.json", "dist/LICENSE-MIT", "dist/LICENSE-APACHE"} <= names
    assert {name.split("/")[0] for name in names} == {"README.md", "package.json", "dist"}
    assert not any(str(tarball.parent).encode() in text for text in texts)


def test_the_lock_names_no_registry():
    locked = json.loads((TYPESCRIPT / "package-lock.json").read_text())["packages"]
    assert [name for name, package in locked.items() if "resolved" in package] == []
    assert [name for name, package in locked.items() if name and "integrity" not in package] == []


def test_the_rules_of_asking_again_alone(user):
    said = node(user, "--test", "--test-reporter=tap", "asking.test.mjs")
    assert re.search(r"^# fail 0$", said, re.M)
    assert int(re.search(r"^# pass (\d+)$", said, re.M)[1]) >= 29


@pytest.mark.parametrize("act", [LOSE, SILENT])
def test_pl_11_a_bet_whose_answer_was_lost_is_one_round_however_often_it_is_sent(service, account, driver, act):
    policy = {"totalMs": 120_000, "attemptMs": 500, "firstWaitMs": 10}
    with between(service, act, act) as proxy:
        played = driver.spin(proxy.address, bet(account), policy=policy)
        assert len(proxy.seen) >= 3
        assert len(set(proxy.seen)) == 1
    assert [known.round_id for known in rounds(service, account)] == [played.round_id]


def test_pl_11_a_bet_whose_connections_broke_at_its_answer_is_one_round(service, account, driver):
    breaking = Breaking(service.address, 2)
    try:
        played = driver.spin(breaking.address, bet(account))
    finally:
        breaking.close()
    assert breaking.connections == 3
    assert [known.round_id for known in rounds(service, account)] == [played.round_id]


def test_pl_11_an_id_that_was_used_for_another_content_is_no_reason_to_ask_again(service, account, driver):
    with between(service) as proxy:
        driver.spin(proxy.address, bet(account, "r-1"))
        with pytest.raises(Thrown) as thrown:
            driver.spin(proxy.address, bet(account, "r-1", lines=10))
        assert thrown.value.kinds[:3] == ["Conflict", "AlreadyExists", "Refused"]
        assert (thrown.value.reason, thrown.value.request_id) == ("REQUEST_ID_REUSED", "r-1")
        assert len(proxy.seen) == 2


def test_a_refusal_names_the_fields_at_fault(service, account, driver):
    with pytest.raises(Thrown) as thrown:
        driver.spin(service.address, bet(account, "a b"))
    assert thrown.value.kinds[0] == "InvalidArgument"
    assert list(thrown.value.told["fields"]) == ["request_id"]
    unknown = Account(operator_id="demo", player_id="nobody", currency_code="EUR")
    with pytest.raises(Thrown) as thrown:
        driver.spin(service.address, bet(unknown))
    assert thrown.value.kinds[:2] == ["NotFound", "Refused"]


def test_unavailable_is_asked_again(service, account, driver):
    with between(service, DOWN, DOWN, DOWN) as proxy:
        driver.spin(proxy.address, bet(account, "r-1"))
        assert len(proxy.seen) == 4


def test_the_service_is_asked_again_no_sooner_than_it_says(service, account, driver):
    with between(service, BUSY, BUSY) as proxy:
        before_s = time.monotonic()
        driver.spin(proxy.address, bet(account))
        assert time.monotonic() - before_s >= 2 * BUSY_S
        assert len(proxy.seen) == 3


def test_pl_33_what_is_unknown_at_the_deadline_can_be_looked_up(service, account, driver):
    with between(service, *[SILENT] * 100) as proxy:
        with pytest.raises(Thrown) as thrown:
            driver.spin(proxy.address, bet(account), policy={"attemptMs": 500}, timeout_ms=1_500)
        proxy.lost.get(timeout=60)
    assert (thrown.value.kinds[0], thrown.value.told["cause"]) == ("OutcomeUnknown", "Unavailable")
    look_up = GetRequestRequest(account=account, request_id=thrown.value.request_id)
    known = driver.ask(ledger_pb2.GetRequestResponse(), service.address, "getRequest", look_up, service="ledger").outcome
    assert known.state == ledger_pb2.RequestOutcome.STATE_APPLIED
    assert [known.round.round_id] == [one.round_id for one in rounds(service, account)]


@pytest.mark.parametrize("end", ["abort", "close"])
def test_pl_33_a_call_that_its_caller_ends_asks_no_more_and_says_that_it_does_not_know(service, account, driver, end):
    with between(service, SILENT) as proxy:
        driver.begin(proxy.address, "spin", bet(account, "r-1"))
        proxy.lost.get(timeout=60)
        driver.tell(end=end)
        with pytest.raises(Thrown) as thrown:
            driver.hear(SpinResponse())
        assert (thrown.value.kinds[0], thrown.value.request_id) == ("OutcomeUnknown", "r-1")
        assert len(proxy.seen) == 1


@pytest.mark.parametrize("end", ["abort", "close"])
def test_a_call_that_waits_to_ask_again_is_ended_too(service, account, driver, end):
    with between(service, LOSE) as proxy:
        driver.begin(proxy.address, "spin", bet(account, "r-1"), {"totalMs": 8e7, "firstWaitMs": 6e7, "waitMsMax": 6e7})
        proxy.lost.get(timeout=60)
        driver.tell(end=end)
        with pytest.raises(Thrown) as thrown:
            driver.hear(SpinResponse())
        assert (thrown.value.kinds[0], thrown.value.request_id) == ("OutcomeUnknown", "r-1")
        assert len(proxy.seen) == 1


def test_pl_27_over_tls_with_a_token(protected, driver):
    opening = OpenAccountRequest(account=Account(operator_id="acme", player_id="alice", currency_code="EUR"), request_id="open")
    right = target_of(protected)
    driver.ask(OpenAccountResponse(), right, "openAccount", opening, service="ledger")
    with pytest.raises(Thrown) as thrown:
        driver.ask(OpenAccountResponse(), {**right, "token": "another"}, "openAccount", opening, service="ledger")
    assert (thrown.value.kinds[0], thrown.value.reason) == ("Unauthenticated", "TOKEN_UNKNOWN")


def test_pl_27_over_tls_with_a_client_certificate(mutual, driver):
    opening = OpenAccountRequest(account=Account(operator_id="acme", player_id="alice", currency_code="EUR"), request_id="open")
    right = {"address": mutual.address.replace("127.0.0.1", "localhost"), "ca": mutual.certificate.read_text()}
    own = {"certificate": mutual.own.read_text(), "key": mutual.own_key.read_text()}
    driver.ask(OpenAccountResponse(), {**right, **own}, "openAccount", opening, service="ledger")
    with pytest.raises(Thrown) as thrown:
        driver.ask(OpenAccountResponse(), right, "openAccount", opening, service="ledger")
    assert (thrown.value.kinds[0], thrown.value.reason) == ("Unauthenticated", "TOKEN_MISSING")


def test_pl_33_a_call_without_a_connection_is_not_sent(service, protected, driver):
    with socket.create_server(("127.0.0.1", 0)) as free:
        unused = "127.0.0.1:%d" % free.getsockname()[1]
    right = target_of(protected)
    untrusted = {"address": right["address"]}
    for target in [unused, untrusted, protected.address, {"address": "nohost.invalid:1", "plain": True, "plainRemote": True}, {**right, "address": service.address}]:
        with pytest.raises(Thrown) as thrown:
            driver.ask(SpinResponse(), target, "spin", bet(Account(), "r-1"), policy={"totalMs": 500})
        assert (thrown.value.kinds[:2], thrown.value.request_id) == (["NotSent", "Unavailable"], "r-1"), target


def test_a_silent_connection_is_replaced_within_its_calls_deadline(service, account, user):
    freezing = Freezing(service.address)
    calls = subprocess.Popen(["node", "frozen.mjs", freezing.address, account.player_id], cwd=user, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        for _ in range(3):
            assert calls.stdout.readline() == "done\n"
            freezing.freeze()
            calls.stdin.write("next\n")
            calls.stdin.flush()
    finally:
        calls.communicate(timeout=60)
        freezing.close()
    assert balance(service, account) == 10_004


def test_streams_are_handed_on_and_have_the_token_too(protected, driver):
    right = target_of(protected)
    opening = OpenAccountRequest(account=Account(operator_id="acme", player_id="bob", currency_code="EUR"))
    driver.ask(OpenAccountResponse(), right, "openAccount", opening, service="ledger")
    told = driver.ask(FollowLogResponse(), right, "followLog", FollowLogRequest(), service="ledger")
    assert told.operator_id == "acme"
    with pytest.raises(Thrown) as thrown:
        driver.ask(FollowLogResponse(), {**right, "token": "another"}, "followLog", FollowLogRequest(), service="ledger")
    assert (thrown.value.kinds[0], thrown.value.told["streamed"]) == ("ConnectError", "TOKEN_UNKNOWN")


def target_of(service):
    address = service.address.replace("127.0.0.1", "localhost")
    return {"address": address, "token": service.token, "ca": service.certificate.read_text()}
