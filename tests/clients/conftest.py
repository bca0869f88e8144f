import os
import secrets
import subprocess
import sys
import tempfile
import threading
from base64 import b64decode
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "deploy/clients/python"
BINARY = Path(os.environ.get("MOTHERLODE_BIN") or ROOT / "target/debug/motherlode").resolve()


def build(folder):
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", folder / "source"]
    subprocess.run(["cp", "-rL", PYTHON, folder / "source"], check=True)
    for stale in ["build", "src/motherlode_client.egg-info"]:
        subprocess.run(["rm", "-rf", folder / "source" / stale], check=True)
    built = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert built.returncode == 0, built.stdout
    (wheel,) = (folder / "dist").glob("*.whl")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, folder / "site"], check=True)
    return built.stdout


def pytest_configure(config):
    config.built = tempfile.TemporaryDirectory(prefix="motherlode-client-")
    config.said = build(Path(config.built.name))
    sys.path.insert(0, str(Path(config.built.name) / "site"))


def pytest_unconfigure(config):
    config.built.cleanup()


@pytest.fixture(scope="session")
def built(pytestconfig):
    return Path(pytestconfig.built.name)


class Service:
    def __init__(self, folder, config=""):
        folder.mkdir(exist_ok=True)
        (folder / "config.toml").write_text(config)
        command = [BINARY, "serve", "--listen", "127.0.0.1:0", "--no-console", "--data", folder / "data", "--config", folder / "config.toml"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.log = []
        self.reader = threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True)
        self.reader.start()
        self.address = None
        for line in self.process.stdout:
            if line.startswith("motherlode listens on "):
                self.address = line.removeprefix("motherlode listens on ").split(",")[0].strip()
                break
        assert self.address, f"the service printed no address: {''.join(self.log)}"

    def end(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    service = Service(tmp_path_factory.mktemp("shared"))
    yield service
    service.end()


def self_signed(folder, name, *more):
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    options = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    extensions = [option for extension in more for option in ("-addext", extension)]
    made = ["openssl", "req", *options, *extensions, "-keyout", key, "-out", certificate]
    subprocess.run(made, check=True, stderr=subprocess.DEVNULL)
    return certificate, key


def localhost(folder):
    return self_signed(folder, "localhost", "subjectAltName=DNS:localhost,IP:127.0.0.1", "basicConstraints=critical,CA:FALSE")


@pytest.fixture
def mutual(tmp_path):
    """A service that accepts only a client certificate as credential. The certificate is self-signed."""
    certificate, key = localhost(tmp_path)
    own, own_key = self_signed(tmp_path, "gateway", "extendedKeyUsage=clientAuth", "basicConstraints=critical,CA:FALSE")
    text = own.read_text()
    encoded = b64decode("".join(line for line in text.splitlines() if not line.startswith("-----")))
    config = f'[tls]\ncertificate = "{certificate}"\nkey = "{key}"\nclient_ca = "{own}"\n[[operators]]\nid = "acme"\n'
    config += f'[[operators.credentials]]\nname = "gateway"\ncertificate_sha256 = "{sha256(encoded).hexdigest()}"\nroles = ["wallet"]\n'
    service = Service(tmp_path / "service", config)
    service.certificate, service.own, service.own_key = certificate, own, own_key
    yield service
    service.end()


@pytest.fixture
def protected(tmp_path):
    certificate, key = localhost(tmp_path)
    token = secrets.token_urlsafe(32)
    config = f'[tls]\ncertificate = "{certificate}"\nkey = "{key}"\n[[operators]]\nid = "acme"\n[[operators.credentials]]\n'
    config += f'name = "gateway"\ntoken_sha256 = "{sha256(token.encode()).hexdigest()}"\nroles = ["play", "wallet", "audit"]\n'
    service = Service(tmp_path / "service", config)
    service.certificate, service.token = certificate, token
    yield service
    service.end()
