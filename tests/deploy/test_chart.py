import pytest
import yaml
from conftest import DEPLOY
from kustomization import render

helm = pytest.importorskip("helm_python", reason="helm-python-sdk is missing: the chart is not rendered")
CHART = DEPLOY / "kubernetes/chart"


def objects(**values):
    rendered = helm.Chart.load(CHART).render(values, name="motherlode", namespace="motherlode")
    found = [found for text in rendered.values() for found in yaml.safe_load_all(text) if found]
    return {(found["kind"], found["metadata"]["name"]): found for found in found}


def test_helm_finds_no_fault():
    report = helm.lint(CHART, strict=True)
    assert not report["errors"] and all(message["severity"] < 2 for message in report["messages"]), report


def test_without_values_the_chart_has_the_objects_of_the_base():
    expected = {}
    for found in render(DEPLOY / "kubernetes/base"):
        found["metadata"].pop("namespace", None)
        expected[(found["kind"], found["metadata"]["name"])] = found
    del expected[("Namespace", "motherlode")]
    assert objects() == expected


def test_values_are_used():
    values = {"image": "x@sha256:1", "storage": "1Gi", "storageClass": "fast", "resources": {"limits": {"memory": "8Gi"}}}
    spec = objects(**values)[("StatefulSet", "motherlode")]["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    (claim,) = spec["volumeClaimTemplates"]
    assert container["image"] == "x@sha256:1"
    assert container["resources"] == {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"memory": "8Gi"}}
    assert claim["spec"]["resources"]["requests"]["storage"] == "1Gi" and claim["spec"]["storageClassName"] == "fast"
