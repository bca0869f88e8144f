import ctypes
import fcntl
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest
from conftest import BINARY, ROOT

TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
SERVERS = ("motherlode serve", ".venv/bin/python deploy/examples/wallet")
DEADLINE_S = 120


def steps(markdown):
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", markdown, re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line == "^C":
                found.append([line, []])
            elif line.startswith("$ "):
                found.append([line[2:], []])
            elif line.startswith("> ") or (found[-1][0].endswith("\\") or found[-1][0].count("'") % 2):
                found[-1][0] += "\n" + line.removeprefix("> ")
            else:
                found[-1][1].append(line)
    return [(command, "\n".join(output)) for command, output in found]


def pattern(printed):
    return "".join(".*?" if part == "..." else re.escape(part) for part in re.split(r"(\.\.\.)", printed)) + r"\s*"


def own_network():
    """Uses a network namespace, in which the documented ports are free; without permission for that, uses the
    machine's ports."""
    try:
        os.unshare(os.CLONE_NEWNET)
    except (AttributeError, PermissionError):
        if ctypes.CDLL(None).unshare(0x40000000) != 0:
            return
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP


class Server:
    def __init__(self, command, place):
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **place
        )
        self.output, self.grew = "", threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.grew:
                self.output += line
                self.grew.notify_all()

    def shows(self, printed):
        form, end = re.compile(pattern(printed), re.DOTALL), time.monotonic() + DEADLINE_S
        with self.grew:
            while not form.match(self.output):
                left = end - time.monotonic()
                assert left > 0 and self.grew.wait(left), f"expected {printed!r} in {self.output!r}"

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(DEADLINE_S) in (0, -signal.SIGINT, 130), self.output


def play_through(tutorial, folder):
    (folder / "bin").mkdir()
    (folder / "bin/motherlode").symlink_to(BINARY)
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    (folder / ".venv/bin/python").chmod(0o755)
    (folder / "deploy").symlink_to(ROOT / "deploy")
    (folder / "proto").symlink_to(ROOT / "proto")
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    place = {"cwd": folder, "env": {**os.environ, "PATH": path}}
    servers = []
    try:
        for command, printed in steps(tutorial.read_text()):
            if command == "^C":
                servers.pop().interrupt()
            elif command.startswith(SERVERS):
                servers.append(Server(command, place))
                servers[-1].shows(printed)
            else:
                ran = subprocess.run(["bash", "-c", command], text=True, capture_output=True, timeout=DEADLINE_S, **place)
                output = ran.stdout + (ran.stderr if ran.returncode else "")
                assert ran.returncode == 0, f"{command}: {output}{ran.stderr}"
                assert re.fullmatch(pattern(printed), output, re.DOTALL), f"{command}\nexpected:\n{printed}\ngot:\n{output}"
    finally:
        for server in servers:
            server.process.kill()
            server.process.wait()


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_every_command_of_a_tutorial_works_as_written(tutorial, tmp_path):
    assert len(steps(tutorial.read_text())) > 4, "the document must contain commands"
    child = os.fork()
    if child == 0:
        status = 1
        try:
            own_network()
            play_through(tutorial, tmp_path)
            status = 0
        except BaseException as error:
            (tmp_path / "failure").write_text(str(error))
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    failure = tmp_path / "failure"
    assert os.waitstatus_to_exitcode(status) == 0, failure.read_text() if failure.exists() else "it ended"
