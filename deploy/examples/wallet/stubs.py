"""Generates the wallet's stubs from the protos at each start."""

import sys
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

PROTO = Path(__file__).resolve().parents[3] / "proto"
FOLDER = tempfile.TemporaryDirectory(prefix="motherlode-wallet-")


def generate():
    files = [PROTO / "motherlode/round/v1/round.proto", PROTO / "motherlode/wallet/v1/wallet.proto"]
    includes = [f"-I{PROTO}", f"-I{Path(grpc_tools.__file__).parent / '_proto'}"]
    into = [f"--python_out={FOLDER.name}", f"--grpc_python_out={FOLDER.name}"]
    if protoc.main(["protoc", *includes, *into, *map(str, files)]) != 0:
        sys.exit("the protos do not compile")
    sys.path.insert(0, FOLDER.name)


generate()
