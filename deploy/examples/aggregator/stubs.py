"""Generates the client's stubs from the protos at each start."""

import sys
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

HERE = Path(__file__).resolve().parent
PROTOS = HERE.parents[2] / "proto"
GENERATED = HERE / "gen"


def generate():
    GENERATED.mkdir(exist_ok=True)
    files = sorted((PROTOS / "motherlode").rglob("*.proto"))
    includes = [f"-I{PROTOS}", f"-I{Path(grpc_tools.__file__).parent / '_proto'}"]
    arguments = ["protoc", *includes, f"--python_out={GENERATED}", f"--grpc_python_out={GENERATED}"]
    if protoc.main([*arguments, *map(str, files)]) != 0:
        sys.exit(f"the protos in {PROTOS} do not compile")
    sys.path.insert(0, str(GENERATED))
