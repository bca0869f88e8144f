"""Checks a long log of a running service with programs that share no code with the service.

    foreign_verifiers.py ROUNDS        with MOTHERLODE_BIN, as `tests/run proofs` does

tlog-scales, and Go's sumdb if Go is installed, verify each checkpoint, and that the checkpoint's tree includes each record.
"""

import functools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tlog_scales import backend, reader, signing
from tlog_scales.tiles import leaf_hash

HERE = Path(__file__).parent
# On Debian, Go needs the packages golang-go and golang-golang-x-mod-dev.
GO_PATH = Path("/usr/share/gocode")
BINARY = os.environ["MOTHERLODE_BIN"]


def by_tlog_scales(prefix, vkey):
    began = time.monotonic()
    log = reader.TilesReader(backend.make_backend(prefix))
    checkpoint = log.get_checkpoint()
    checkpoint.verify(signing.Vkey.from_string(vkey))
    size, root = checkpoint.size, checkpoint.root_hash
    log.mth = functools.lru_cache(1 << 16)(log.mth)
    assert log.calculate_root_hash() == root
    for index in range(size):
        log.get_inclusion_proof(index, size).check(leaf_hash(log.get_entry(index)), root)
        log.get_consistency_proof(index + 1, size).check(log.mth(0, index + 1), root)
        if (index + 1) % 100_000 == 0:
            print(f"tlog-scales: {index + 1} records, {time.monotonic() - began:.0f} s", flush=True)
    took = time.monotonic() - began
    print(f"tlog-scales: signature, inclusion and consistency of each of {size} records hold, {took:.0f} s", flush=True)


def by_go(prefix, vkey, folder):
    if not shutil.which("go") or not (GO_PATH / "src/golang.org/x/mod/sumdb/tlog").is_dir():
        print("sumdb: SKIPPED, neither Go nor golang.org/x/mod is here (Debian: golang-go, golang-golang-x-mod-dev)", flush=True)
        return None
    environment = os.environ | {"GO111MODULE": "off", "GOPATH": str(GO_PATH), "GOCACHE": str(folder / "go"), "GOFLAGS": ""}
    program = folder / "verify_log"
    subprocess.run(["go", "build", "-o", program, HERE / "go/verify_log.go"], check=True, env=environment)
    return subprocess.Popen([program, prefix, vkey])


def main(rounds):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        data, config, key = folder / "data", folder / "config.toml", folder / "log.key"
        new = [BINARY, "key", "new", "example.com/long", "--out", key]
        vkey = subprocess.run(new, check=True, capture_output=True, text=True).stdout.strip()
        config.write_text(f'[proofs]\nname = "example.com/long"\nkey_file = "{key}"\nlisten = "127.0.0.1:0"\n')
        serve = [BINARY, "serve", "--listen", "127.0.0.1:0", "--data", data, "--config", config]
        service = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
        try:
            said = {}
            for line in service.stdout:
                name, _, rest = line.strip().partition(": ")
                said[name] = rest
                if line.startswith("motherlode listens on "):
                    address = line.removeprefix("motherlode listens on ").split(",")[0]
                    break
            prefix = said["signed checkpoints and Merkle tree tiles"].removesuffix("/checkpoint")
            played = [BINARY, "loadtest", "--target", f"http://{address}", "--rounds", str(rounds), "--players", "10000", "--stream"]
            subprocess.run(played, check=True, stdout=subprocess.DEVNULL)
            while reader.TilesReader(backend.make_backend(prefix)).get_checkpoint().size < rounds:
                time.sleep(0.1)
            go = by_go(prefix, vkey, folder)
            try:
                by_tlog_scales(prefix, vkey)
                assert go is None or go.wait() == 0
            finally:
                if go is not None and go.poll() is None:
                    go.kill()
        finally:
            service.terminate()
            assert service.wait(timeout=60) == 0
            service.stdout.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
