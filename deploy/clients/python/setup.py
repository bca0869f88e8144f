"""Generates messages, stubs and types from the protos, unless the source distribution already has them."""

import os
import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent


class BuildPy(build_py):
    def run(self):
        super().run()
        if not (HERE / "src/motherlode/spin").exists():
            generate(Path(self.build_lib))


class Sdist(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        if not (HERE / "src/motherlode/spin").exists():
            generate(Path(base_dir) / "src")


def generate(into):
    import grpc_tools
    from grpc_tools import protoc

    protos = sorted((HERE / "protos/motherlode").rglob("*.proto"))
    includes = [f"-I{HERE / 'protos'}", f"-I{Path(grpc_tools.__file__).parent / '_proto'}"]
    plugins = [f"--plugin={name}={plugin(name)}" for name in ("protoc-gen-mypy", "protoc-gen-mypy_grpc")]
    kinds = [f"--{kind}_out={into}" for kind in ("python", "grpc_python")]
    kinds += [f"--{kind}_out=quiet:{into}" for kind in ("mypy", "mypy_grpc")]
    if protoc.main(["protoc", *includes, *plugins, *kinds, *map(str, protos)]) != 0:
        raise SystemExit("the protos do not compile")
    # Creates an `__init__.py` in each folder, because older packaging tools ignore folders without it.
    for proto in protos:
        folder = into / proto.parent.relative_to(HERE / "protos")
        for package in (folder, folder.parent):
            (package / "__init__.py").touch()


def plugin(name):
    import mypy_protobuf

    beside = [Path(sys.executable).parent, Path(mypy_protobuf.__file__).parents[1] / "bin"]
    found = shutil.which(name) or shutil.which(name, path=os.pathsep.join(map(str, beside)))
    if not found:
        raise SystemExit(f"{name} is missing: install mypy-protobuf")
    return found


setup(cmdclass={"build_py": BuildPy, "sdist": Sdist})
