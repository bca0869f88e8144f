"""Starts a local service with a console."""

import subprocess
import tempfile
from contextlib import contextmanager


@contextmanager
def served(motherlode):
    with tempfile.TemporaryDirectory() as folder:
        command = [motherlode, "serve", "--listen", "127.0.0.1:0", "--console", "127.0.0.1:0", "--data", f"{folder}/data"]
        service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            for line in service.stdout:
                if line.startswith("console: "):
                    yield line.removeprefix("console: ").strip().rstrip("/"), service
                    return
            raise SystemExit("the service printed no address of a console")
        finally:
            service.kill()
            service.wait()
            service.stdout.close()
