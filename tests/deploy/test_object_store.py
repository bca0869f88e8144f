"""Archives, restores and prunes a log through an S3-compatible server that runs as a process."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
from conftest import BINARY, ROOT

PACKAGES = os.environ.get("MOTHERLODE_MOTO") or ROOT / "tests/.s3"
SECONDS_MAX = 120
ARCHIVE = "s3://backup/motherlode"
started = []
IDLE = {"archive", "audit", "copy", "log", "prune", "restore"}
# moto does not verify signatures.
SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=key/20261128/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"}

pytestmark = pytest.mark.skipif(
    not os.path.isdir(f"{PACKAGES}/moto"), reason="moto is missing (tests/run s3): no object store is tested"
)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@pytest.fixture
def bucket(tmp_path):
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (tmp_path / "moto.log").open("w") as log:
        environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        until = time.monotonic() + SECONDS_MAX
        while True:
            try:
                made = urllib.request.Request(f"http://127.0.0.1:{port}/backup", method="PUT")
                urllib.request.urlopen(made, timeout=10).close()
                break
            except OSError:
                assert server.poll() is None and time.monotonic() < until, (tmp_path / "moto.log").read_text()
                time.sleep(0.1)
        yield {
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_ENDPOINT": f"http://127.0.0.1:{port}",
        }
        server.kill()
        server.wait()


@pytest.fixture(autouse=True)
def services():
    yield
    while started:
        started.pop().kill()


@pytest.fixture
def call(bucket):
    def call(*arguments, status=0):
        priority = ["--priority=normal"] if arguments[0] in IDLE else []
        command = [BINARY, *map(str, arguments), *priority]
        ran = subprocess.run(command, env={**os.environ, **bucket}, capture_output=True, text=True, timeout=SECONDS_MAX)
        assert ran.returncode == status, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    return call


class Service:
    def __init__(self, folder, place=None, environment={}):
        reads = f'[archive]\nplace = "{place}"\n' if place else ""
        (folder / "motherlode.toml").write_text(f"[limits]\nsegment_bytes = 1048576\n{reads}")
        self.target = f"http://127.0.0.1:{free_port()}"
        address = self.target.removeprefix("http://")
        command = [BINARY, "serve", f"--data={folder}/data", f"--config={folder}/motherlode.toml", f"--listen={address}"]
        with (folder / "service.log").open("a") as log:
            self.process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=log, stderr=log)
        started.append(self.process)
        until = time.monotonic() + SECONDS_MAX
        while subprocess.run([BINARY, "health", "--target", self.target], capture_output=True).returncode != 0:
            assert self.process.poll() is None and time.monotonic() < until, (folder / "service.log").read_text()
            time.sleep(0.1)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(SECONDS_MAX) == 0


def test_pl_37_a_log_is_archived_pruned_read_and_restored_through_an_s3_server(call, bucket, tmp_path):
    data, restored, copy = tmp_path / "data", tmp_path / "restored", tmp_path / "copy"
    service = Service(tmp_path)
    call("play", "neptune", "--auto", "--target", service.target)
    call("loadtest", "--target", service.target, "--rounds", 6000)
    service.stop()
    service = Service(tmp_path)
    taken = call("base", "take", data, "--actor", "anna", "--target", service.target)
    position, digest = re.search(r"position (\d+)", taken)[1], re.search(r"digest +([0-9a-f]{64})", taken)[1]
    call("copy", "--from", data, "--to", copy)
    assert "equal to the digest logged by `base take`" in call("audit", copy, "--base", position)
    call("base", "confirm", position, digest, "--actor", "bob", "--target", service.target)
    assert "records archived" in call("archive", "--from", data, "--to", ARCHIVE, "--segment-bytes", 65536)
    call("loadtest", "--target", service.target, "--rounds", 6000)
    service.stop()
    call("archive", "--from", data, "--to", ARCHIVE, "--segment-bytes", 65536)
    key = call("key", "show", data / "proofs.key").strip()
    assert "verified the checkpoint" in call("restore", "--from", ARCHIVE, "--check", "--key", key)

    whole = call("log", "verify", data)
    pruned = call("prune", data, "--archive", ARCHIVE, "--keep-days", 0, "--key", key)
    first = int(re.search(r"now starts at position (\d+)", pruned)[1])
    assert first > 100, pruned
    call("restore", "--from", ARCHIVE, "--to", restored, "--key", key)
    call("audit", restored)
    head = re.compile(r"head hash [0-9a-f]{64}")
    assert head.search(call("log", "verify", restored))[0] == head.search(whole)[0]
    service = Service(tmp_path)
    assert "ARCHIVED" in call("proof", "demo/alice/1", "--target", service.target, status=1)
    call("loadtest", "--target", service.target, "--rounds", 100)
    service.stop()
    call("archive", "--from", data, "--to", ARCHIVE)

    service = Service(tmp_path, ARCHIVE, bucket)
    proof = tmp_path / "round.tlog-proof"
    proof.write_text(call("proof", "demo/alice/1", "--target", service.target))
    assert "PROVEN" in call("verify", proof, "--key", key)
    bucket["AWS_ENDPOINT"] = f"http://127.0.0.1:{free_port()}"
    service.stop()
    service = Service(tmp_path, ARCHIVE, bucket)
    assert "ARCHIVE_UNAVAILABLE" in call("proof", "demo/alice/1", "--target", service.target, status=1)
    call("loadtest", "--target", service.target, "--rounds", 100)
    service.stop()


def test_pl_37_an_archive_that_lacks_an_object_or_an_unreachable_server_is_reported(call, bucket, tmp_path):
    service = Service(tmp_path)
    call("loadtest", "--target", service.target, "--rounds", 50)
    service.stop()
    call("archive", "--from", tmp_path / "data", "--to", ARCHIVE)
    listed = urllib.request.urlopen(f"{bucket['AWS_ENDPOINT']}/backup", timeout=10).read().decode()
    segments = [name for name in re.findall("<Key>([^<]+)</Key>", listed) if "/segments/" in name]
    assert segments, listed
    gone = urllib.request.Request(f"{bucket['AWS_ENDPOINT']}/backup/{segments[0]}", headers=SIGNED, method="DELETE")
    urllib.request.urlopen(gone, timeout=10).close()
    assert segments[0].removeprefix("motherlode/") in call("restore", "--from", ARCHIVE, "--check", status=1)
    bucket["AWS_ENDPOINT"] = f"http://127.0.0.1:{free_port()}"
    assert ARCHIVE in call("restore", "--from", ARCHIVE, "--check", status=1)
