import hashlib
import json
import os
import shlex
import signal
import subprocess
import tomllib

import grpc
import pytest
from client import OPERATOR, account, refused
from conftest import BINARY, STORE
from protected import Protected

from motherlode.report.v1 import report_pb2
from motherlode.spin.v1 import spin_pb2

ROLES = {"platform/ann": ["admin"], "cash/one": ["wallet"], "acme/gateway": ["play", "wallet"], "acme/audit": ["audit"]}


def suggested(service):
    said = []
    for line in service.process.stdout:
        said.append(line.rstrip("\n"))
        if " audit " in line:
            break
    commands = [line.strip() for line in said if line.startswith("  ")]
    assert [shlex.split(command)[1] for command in commands] == ["play", "loadtest", "watch", "audit"], said
    return commands, "\n".join(said)


def works(command, folder, environment):
    if shlex.split(command)[1] != "watch":
        ran = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=100)
        assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
        return
    watching = subprocess.Popen(["sh", "-c", f"exec {command}"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        seen = next(line for line in watching.stdout if line.strip())
        assert seen and watching.poll() is None, seen
    finally:
        watching.send_signal(signal.SIGINT)
        watching.wait(timeout=20)
        watching.stdout.close()


@pytest.mark.parametrize("protected", [False, True], ids=["open", "with tokens and TLS"])
def test_uf_09_the_commands_that_a_start_suggests_work_as_they_are_printed(start, tmp_path, protected):
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    config = ""
    if protected:
        guard = Protected(elsewhere, ROLES)
        config = guard.config
        environment["MOTHERLODE_TOKEN"] = guard.tokens["acme/gateway"]
    service = start(config=config)
    commands, said = suggested(service)
    if protected:
        assert "operator acme, credential gateway" in said and "MOTHERLODE_TOKEN" in said
    else:
        assert "No operators are configured" in said
    for command in commands:
        works(command, elsewhere, environment)


def test_uf_09_without_a_terminal_no_line_of_the_log_has_colours(start):
    service = start(config='[telemetry]\nfilter = "debug"\n')
    service.client().position()
    assert service.terminate() == 0
    log = "".join(service.log)
    assert "INFO" in log and "\x1b" not in log, log


@pytest.mark.skipif(bool(STORE), reason="this line concerns only a log in a folder")
def test_uf_09_a_start_after_a_kill_tells_of_no_other_log_and_the_first_of_a_new_one(start):
    first = start()
    first.process.send_signal(signal.SIGKILL)
    first.process.wait()
    second = start()
    client = second.client()
    client.fund("alice")
    second.process.send_signal(signal.SIGKILL)
    second.process.wait()
    third = start()
    assert third.client().balance(account("alice")) > 0
    assert third.terminate() == 0
    for service, words in [(first, "starting a new log"), (third, "replaying the log")]:
        assert words in "".join(service.log), service.log
    for service in (first, second, third):
        log = "".join(service.log)
        assert "another log" not in log and " WARN " not in log and " ERROR " not in log, log


def canonical(settings):
    return (json.dumps(settings, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n").encode()


def merged(defaults, given):
    if not isinstance(defaults, dict) or not isinstance(given, dict):
        return given
    return defaults | {key: merged(defaults.get(key), value) for key, value in given.items()}


@pytest.mark.skipif(bool(STORE), reason="the configuration is another one there")
def test_uf_09_a_laboratory_computes_the_digest_of_the_configuration_by_itself(start, tmp_path):
    config = '[limits]\nqueue_length_max = 77\n\n[demo]\nbalance_minor = 5_000\n\n[report.operators]\n"acme" = 3\n"ä" = 2\n'
    service = start(config=config)
    stated = service.client().reports.GetIdentity(report_pb2.GetIdentityRequest()).configuration_sha256
    file = tmp_path / "config.toml"
    printed = subprocess.run([BINARY, "config", "--canonical", "--config", file], stdout=subprocess.PIPE, check=True).stdout
    assert hashlib.sha256(printed).hexdigest() == stated
    said = subprocess.run([BINARY, "config", "--config", file], stdout=subprocess.PIPE, check=True, text=True).stdout
    assert stated in said
    defaults = json.loads(subprocess.run([BINARY, "config", "--canonical"], stdout=subprocess.PIPE, check=True).stdout)
    by_hand = canonical(merged(defaults, tomllib.loads(config)))
    assert by_hand == printed and hashlib.sha256(by_hand).hexdigest() == stated
    assert canonical(merged(defaults, {})) != by_hand


def test_mf_d8_config_refuses_what_serve_refuses(tmp_path):
    ladder = '[currencies]\nenabled = ["EUR"]\n[currencies.ladders.neptune]\nEUR = { coin_values = "0.003", default = "0.003" }\n'
    for number, config in enumerate(['listen = "0.0.0.0:50051"\n', ladder]):
        file = tmp_path / f"{number}.toml"
        file.write_text(config, encoding="utf-8")
        told = [
            subprocess.run([BINARY, command, "--config", file, *more], capture_output=True, text=True, timeout=60)
            for command, more in [("config", []), ("serve", ["--data", tmp_path / "data"])]
        ]
        assert all(of.returncode != 0 for of in told), told
        assert told[0].stderr.strip().splitlines()[-1] in told[1].stderr


def test_uf_09_no_secret_is_in_the_canonical_form(tmp_path):
    guard = Protected(tmp_path, ROLES)
    file = tmp_path / "config.toml"
    file.write_text(guard.config)
    printed = subprocess.run([BINARY, "config", "--canonical", "--config", file], stdout=subprocess.PIPE, check=True).stdout
    assert json.loads(printed)["operators"][0]["credentials"]
    for token in guard.tokens.values():
        assert token.encode() not in printed
    assert guard.key.read_bytes().splitlines()[1] not in printed


LONG = "x" * 60_000
HIDDEN = ["a\u202eb", "a\u2028b", "a\u200bb", "a\u0007b", "a\x1b[31mb", "..", "."]


def test_uf_09_a_long_or_hidden_name_is_refused_and_not_echoed(service, client):
    games = spin_pb2.GetGameRequest
    for name in [LONG, *HIDDEN]:
        for request in [games(game=name), games(game="neptune", rules_version=name)]:
            with pytest.raises(grpc.RpcError) as raised:
                client.spins.GetGame(request)
            assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            told = raised.value.details() + "".join(str(value) for _, value in raised.value.trailing_metadata())
            assert len(told) < 2_000 and not any(letter in told for letter in "\u202e\u2028\u200b\u0007\x1b")
        with refused(grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"):
            client.balance(account(name))
    log = "".join(service.log)
    assert LONG[:1_000] not in log
