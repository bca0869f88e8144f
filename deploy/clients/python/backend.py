"""Build backend: setuptools, plus the code generators if the package is built from a checkout."""

from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

GENERATORS = ["grpcio-tools==1.85.1", "mypy-protobuf==5.1.0"]


def generators():
    return [] if Path(__file__).with_name("src").joinpath("motherlode/spin").exists() else GENERATORS


def get_requires_for_build_wheel(settings=None):
    return build_meta.get_requires_for_build_wheel(settings) + generators()


def get_requires_for_build_sdist(settings=None):
    return build_meta.get_requires_for_build_sdist(settings) + generators()
