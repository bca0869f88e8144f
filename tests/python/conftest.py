import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GENERATED = HERE / "gen"
BINARY = Path(os.environ.get("MOTHERLODE_BIN") or ROOT / "target/debug/motherlode").resolve()
SCRIPTED = BINARY.with_name("motherlode-under-test")
EXAMPLES = Path(os.environ.get("MOTHERLODE_EXAMPLES") or ROOT / "target/debug/examples").resolve()
PLAYERS = count(1)

STORE = os.environ.get("MOTHERLODE_TESTS_STORE")
ON_ONE_SERVER = "[store]\nreplicas = 1\nallow_unsafe = {replicas = true, sync_interval = true}\n"


def generate():
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    import grpc_tools
    from grpc_tools import protoc

    GENERATED.mkdir(exist_ok=True)
    protos = sorted((ROOT / "proto/motherlode").rglob("*.proto"))
    includes = [f"-I{ROOT / 'proto'}", f"-I{Path(grpc_tools.__file__).parent / '_proto'}"]
    arguments = ["protoc", *includes, f"--python_out={GENERATED}", f"--grpc_python_out={GENERATED}"]
    if protoc.main([*arguments, *map(str, protos)]) != 0:
        raise pytest.UsageError("the protos do not compile")


generate()
sys.path.insert(0, str(GENERATED))

from client import Client  # noqa: E402  (it imports what was generated just now)


def give_draw_key(data, shift_s):
    file = data / "keys" / "draws"
    if data.exists() and any(data.iterdir()):
        return
    file.parent.mkdir(parents=True)
    file.touch(mode=0o600)
    file.write_text(f"{time.time_ns() // 1_000_000 + shift_s * 1_000} {'5c' * 32}\n")


class Service:
    def __init__(self, data, config="", binary=BINARY, environment=None):
        give_draw_key(data, int((environment or {}).get("CLOCK_SHIFT_S", 0)))
        command = [binary, "serve", "--listen", "127.0.0.1:0", "--data", data]
        self.place = data
        self.log_arguments = [data]
        if STORE:
            self.place = f"{STORE}/{hashlib.sha256(bytes(data)).hexdigest()[:32]}"
            self.log_arguments = [self.place, "--stream-key", data / "keys" / "stream"]
            command += ["--store", self.place]
            config += ON_ONE_SERVER
        if config:
            file = data.with_name("config.toml")
            file.write_text(config)
            command += ["--config", file]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment and os.environ | environment)
        self.log = []
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()
        self.address = self.tiles = self.console = None
        for line in self.process.stdout:
            if line.startswith("signed checkpoints and Merkle tree tiles: "):
                self.tiles = line.removeprefix("signed checkpoints and Merkle tree tiles: ").strip()
            if line.startswith("console: "):
                self.console, _, apart = line.removeprefix("console: ").strip().partition(", for the services at ")
                if apart:
                    self.address = self.console
                    break
            if line.startswith("motherlode listens on "):
                self.address = line.removeprefix("motherlode listens on ").split(",")[0]
                break
        assert self.address, f"the service printed no address: {''.join(self.log)}"

    def client(self):
        return Client(self.address)

    @contextmanager
    def held(self):
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=20)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@pytest.fixture
def start(tmp_path):
    started = []

    def start(config="", binary=BINARY):
        started.append(Service(tmp_path / "data", config, binary))
        return started[-1]

    yield start
    for service in started:
        service.end()


@pytest.fixture(scope="module")
def start_once(tmp_path_factory):
    started = []

    def start(config="", binary=BINARY):
        started.append(Service(tmp_path_factory.mktemp("once") / "data", config, binary))
        return started[-1]

    yield start
    for service in started:
        service.end()


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("shared") / "data")
    yield service
    service.end()


@pytest.fixture
def client(service):
    client = service.client()
    yield client
    client.close()


@pytest.fixture
def player(request):
    name = re.sub(r"[^A-Za-z0-9._~-]+", "-", request.node.name.removeprefix("test_"))
    return f"{name[:40]}.{next(PLAYERS)}"
