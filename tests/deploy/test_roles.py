"""Runs the commands and probes of deploy/kubernetes/distributed on loopback, before and after the writer is killed.

Uses other addresses and paths than the manifests, and a single NATS server without TLS and credentials.
"""

import hashlib
import os
import re
import socket
import subprocess
import time

import pytest
from conftest import BINARY
from kustomization import containers, pod, render
from test_distributed import FOLDER, SERVER

SECONDS_MAX = 120
CERTIFICATE = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={0} -addext subjectAltName=DNS:{0}"
ROLES = ["ledger", "spin", "jackpot"]

pytestmark = pytest.mark.skipif(not SERVER.is_file(), reason="nats-server is missing (tests/run nats): the roles are not run")


def address(number):
    pid = os.getpid()
    return f"127.{64 + pid // 8192 % 128}.{pid // 32 % 256}.{pid % 32 * 8 + number}"


def listens(host, port):
    try:
        socket.create_connection((host, port), timeout=5).close()
        return True
    except OSError:
        return False


def wait_until(state, log):
    until = time.monotonic() + SECONDS_MAX
    while not (found := state()):
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.1)
    return found


class Node:
    def __init__(self, container, address, data, change, log):
        self.container, self.address, self.data, self.log = container, address, data, log
        self.change = lambda words: [change(word).replace("//127.0.0.1:", f"//{address}:") for word in words]
        self.start()

    def start(self):
        words = [word.replace("0.0.0.0", self.address) for word in self.change(self.container["args"])]
        command = [BINARY, "serve", *words, f"--data={self.data}"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def passes(self, probe):
        told = self.container[f"{probe}Probe"]
        if "tcpSocket" in told:
            return listens(self.address, 50051)
        words = self.change(told["exec"]["command"][1:])
        return subprocess.run([BINARY, *words], capture_output=True, timeout=30).returncode == 0

    def kept(self):
        if self.process.poll() is not None:
            self.start()
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture
def nats(tmp_path):
    file, host = tmp_path / "nats.conf", address(0)
    file.write_text(
        f'listen: "{host}:4222"\nhttp: "{host}:8222"\nmax_payload: 8MB\n'
        f'jetstream {{ store_dir: "{tmp_path}/nats", sync_interval: always }}\n'
    )
    with (tmp_path / "nats.log").open("w") as log:
        server = subprocess.Popen([SERVER, "-c", file], stdout=log, stderr=log)
        wait_until(lambda: listens(host, 4222) and listens(host, 8222), tmp_path / "nats.log")
        yield host
        server.kill()
        server.wait()


def configure(folder, nats):
    for role in ROLES:
        (folder / role).mkdir()
        files = ["-keyout", folder / role / "tls.key", "-out", folder / role / "tls.crt"]
        more = ["-addext", "basicConstraints=critical,CA:FALSE"]
        command = ["openssl", *CERTIFICATE.format(role).split(), *more, *files]
        subprocess.run(command, check=True, capture_output=True)
    roots = "".join((folder / role / "tls.crt").read_text() for role in ROLES)
    tokens = {role: f"a token of {role}" for role in ("spin", "jackpot")}
    for role, token in tokens.items():
        (folder / role / "node.token").write_text(token)
    key = folder / "ledger" / "stream.key"
    key.write_text("5a" * 32)
    key.chmod(0o600)
    text = (FOLDER / "motherlode.toml").read_text()
    name = re.search(r'name = "(example.com/[^"]+)"', text)[1]
    log_key = folder / "ledger" / "log.key"
    subprocess.run([BINARY, "key", "new", name, "--out", log_key], check=True, capture_output=True)
    # The draw keys are the only secret that two roles use.
    text = text.replace("/etc/motherlode/role/draws", f"{folder}/draws")
    text = re.sub(r"(?m)^url = .*", f'url = "nats://{nats}:4222"\nreplicas = 1', text)
    text = re.sub(r"(?s)monitor = \[.*?\]", f'monitor = ["http://{nats}:8222"]', text)
    text = re.sub(r"(?m)^(credentials|tls\.ca) = .*\n", "", text)
    for number, token in ((3, tokens["spin"]), (5, tokens["jackpot"])):
        digest = hashlib.sha256(token.encode()).hexdigest()
        text = re.sub(rf'token_sha256 = "0*{number}"', f'token_sha256 = "{digest}"', text)
    text = re.sub(r"(?m)^otlp_endpoint.*\n", "", text) + "\n[store.allow_unsafe]\nreplicas = true\n"
    for role in ROLES:
        (folder / role / "ca.crt").write_text(roots)
        of_role = re.sub(r"/etc/motherlode/(role|tls)", f"{folder}/{role}", text)
        of_role = re.sub(r'"(tls\.(?:crt|key))"', rf'"{folder}/{role}/\1"', of_role)
        (folder / role / "motherlode.toml").write_text(of_role)


@pytest.fixture
def nodes(tmp_path, nats):
    configure(tmp_path, nats)
    made = {found["metadata"]["name"]: found for found in render(FOLDER) if pod(found)}
    count = made["ledger"]["spec"]["replicas"]
    names = [*(f"ledger-{number}" for number in range(count)), "spin", "jackpot"]
    addresses = {name: address(number) for number, name in enumerate(names, start=1)}

    def change(role):
        def change_word(word):
            word = re.sub("/etc/motherlode/(configuration|tls)", f"{tmp_path}/{role}", word)
            return re.sub(r"(ledger-\d)\.ledger-nodes:50051", lambda found: f"{addresses[found[1]]}:50051", word)

        return change_word

    with (tmp_path / "nodes.log").open("w") as log:
        started = {}
        for name, host in addresses.items():
            role = name.split("-")[0]
            (container,) = containers(made[role])
            started[name] = Node(container, host, tmp_path / f"data-{name}", change(role), log)
        yield started
        for node in started.values():
            node.kill()


def test_one_ledger_is_ready_the_other_lives_and_takes_over(nodes, tmp_path):
    log = tmp_path / "nodes.log"
    ledgers = [node for name, node in nodes.items() if name.startswith("ledger-")]
    others = [nodes["spin"], nodes["jackpot"]]

    def ready(among):
        return [node for node in among if node.kept().passes("readiness")]

    def writers():
        """Returns the ready ledger, if any. The second probe excludes a ledger that lost the log after the first
        probe."""
        found = ready(ready(ledgers))
        assert len(found) <= 1, log.read_text()
        return found

    def writes():
        found = writers()
        return found[0] if found and ready(others) == others else None

    wait_until(writes, log)
    assert all(node.passes("startup") for node in others)
    wait_until(lambda: all(node.kept().passes("liveness") for node in nodes.values()), log)

    writer = wait_until(writes, log)
    writer.kill()
    standby = [node for node in ledgers if node is not writer]
    assert not writer.passes("liveness") and not writer.passes("readiness")
    wait_until(lambda: ready(standby) == standby, log)
    wait_until(lambda: writer.kept().passes("liveness"), log)
    wait_until(writes, log)
    assert all(node.passes("liveness") for node in nodes.values()), "the liveness probe must succeed on a standby"
