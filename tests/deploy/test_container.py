import json
import shlex
import shutil
import subprocess
import tomllib

import pytest
from conftest import BINARY, DEPLOY, executed, missing

DOCKERFILE = (DEPLOY / "container/Dockerfile").read_text()
EXAMPLE = DEPLOY / "motherlode.toml"
FOLDER = "/etc/motherlode"


def instruction(keyword):
    (line,) = [line for line in DOCKERFILE.split("FROM ")[-1].splitlines() if line.startswith(f"{keyword} ")]
    return line.removeprefix(f"{keyword} ")


def documented():
    (line,) = [line for line in DOCKERFILE.splitlines() if line.startswith("#     docker run ")]
    return shlex.split(line.removeprefix("#     "))


def certificate(folder):
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=motherlode -addext subjectAltName=DNS:motherlode"
    files = ["-keyout", folder / "tls.key", "-out", folder / "tls.crt"]
    subprocess.run([*command.split(), *files], check=True, capture_output=True)


def test_the_documented_command_mounts_what_the_image_reads():
    words = documented()
    mounts = [words[place + 1].split(":")[:2] for place, word in enumerate(words) if word == "-v"]
    inside = [target for _, target in mounts]
    assert words[-1] == "motherlode", "the container must use the image's arguments"
    assert instruction("VOLUME") in inside and FOLDER in inside
    assert json.loads(instruction("CMD")) == ["--config", f"{FOLDER}/motherlode.toml"]
    assert instruction("WORKDIR") == FOLDER, "relative paths in the configuration start in the working directory"
    port = instruction("EXPOSE")
    assert f"{port}:{port}" in words
    assert tomllib.loads(EXAMPLE.read_text())["listen"] == f"0.0.0.0:{port}", "a service on a loopback address is unreachable from outside the container"


def test_the_example_is_sound_in_the_working_directory_of_image_and_unit(tmp_path):
    certificate(tmp_path)
    (tmp_path / "motherlode.toml").write_text(EXAMPLE.read_text())
    command = [BINARY, "config", "--data", tmp_path / "data", "--config", tmp_path / "motherlode.toml"]
    sound = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert sound.returncode == 0, sound.stderr
    elsewhere = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=60)
    assert elsewhere.returncode != 0 and "tls.crt" in elsewhere.stderr


@pytest.mark.skipif(not (shutil.which("cc") and shutil.which("objcopy")), reason="cc or objcopy is missing: split-debug is not tested")
def test_a_binary_is_split_from_its_debug_data(tmp_path):
    source, made, out = tmp_path / "one.c", tmp_path / "one", tmp_path / "out"
    source.write_text("int main(void) { return 7; }")
    subprocess.run(["cc", "-g", "-o", made, source], check=True)
    subprocess.run([DEPLOY / "container/split-debug", made, out], check=True, timeout=60)

    def sections(file):
        return subprocess.run(["readelf", "--sections", "--wide", file], capture_output=True, text=True, check=True).stdout

    assert ".debug_info" in sections(made) and ".debug_info" in sections(out / "one.debug")
    assert ".debug_info" not in sections(out / "one") and ".gnu_debuglink" in sections(out / "one")
    assert ".symtab" in sections(out / "one"), "a backtrace names its functions"
    assert subprocess.run([out / "one"]).returncode == 7


@pytest.mark.parametrize(("programs", "arguments"), [([], []), (["podman", "runc"], ["--podman"])], ids=["chroot", "podman"])
def test_the_image_is_built_and_runs(programs, arguments):
    if reason := missing("debootstrap", "openssl", "git", *programs):
        pytest.skip(f"{reason}: the image is not built by {' '.join(programs) or 'chroot'}")
    executed("container/check.py", *arguments)
