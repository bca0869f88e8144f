"""deploy/kubernetes: schemas, and rules that a schema cannot express."""

import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml
from conftest import DEPLOY, ROOT
from kustomization import containers, pod, render

KUBERNETES = DEPLOY / "kubernetes"
VERSIONS = ["1.30", "1.37"]
FOLDERS = sorted(path.parent.name for path in KUBERNETES.glob("*/kustomization.yaml"))


@pytest.fixture(params=FOLDERS)
def objects(request):
    return render(KUBERNETES / request.param)


def of(objects, kind):
    return [found for found in objects if found["kind"] == kind]


def labels_of_pods(objects):
    return [found["spec"]["template"]["metadata"]["labels"] for found in objects if pod(found)]


def selects(selector, labels):
    return selector.items() <= labels.items()


def test_there_are_manifests():
    assert {"base", "loadtest"} <= set(FOLDERS)


def test_every_manifest_is_in_a_kustomization():
    for folder in FOLDERS:
        told = yaml.safe_load((KUBERNETES / folder / "kustomization.yaml").read_text())
        used = {*told["resources"], *(patch["path"] for patch in told.get("patches", []))}
        there = {path.name for path in (KUBERNETES / folder).glob("*.yaml")} - {"kustomization.yaml"}
        assert there - used <= {"nats-values.yaml"}, f"{folder}: unused"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas_of_kubernetes_take_every_object(objects, version):
    assert objects
    for found in objects:
        kubernetes_validate.validate(found, version, strict=True)


def test_the_schemas_refuse_what_is_wrong():
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"prots": []}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="no kubectl: its rendering is not compared with the tests' own")
@pytest.mark.parametrize("folder", FOLDERS)
def test_kubectl_renders_the_same(folder):
    command = ["kubectl", "kustomize", KUBERNETES / folder]
    rendered = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    by_name = lambda objects: {(found["kind"], found["metadata"]["name"]): found for found in objects}  # noqa: E731
    assert by_name(yaml.safe_load_all(rendered.stdout)) == by_name(render(KUBERNETES / folder))


def test_services_policies_and_budgets_select_pods_that_there_are(objects):
    pods = labels_of_pods(objects)
    for found in of(objects, "Service"):
        chosen = [labels for labels in pods if selects(found["spec"]["selector"], labels)]
        assert chosen, f"service {found['metadata']['name']} selects nothing"
    for found in of(objects, "PodDisruptionBudget") + of(objects, "NetworkPolicy"):
        selector = found["spec"].get("selector") or found["spec"].get("podSelector")
        chosen = [labels for labels in pods if selects(selector["matchLabels"], labels)]
        assert chosen, f"{found['kind']} {found['metadata']['name']} selects nothing"
    for found in of(objects, "StatefulSet") + of(objects, "Deployment"):
        labels = found["spec"]["template"]["metadata"]["labels"]
        assert selects(found["spec"]["selector"]["matchLabels"], labels)
        others = [other for other in pods if other is not labels]
        assert not any(selects(found["spec"]["selector"]["matchLabels"], other) for other in others), "pods of another"


def test_a_stateful_set_has_its_service(objects):
    services = {found["metadata"]["name"] for found in of(objects, "Service")}
    assert all(found["spec"]["serviceName"] in services for found in of(objects, "StatefulSet"))


def test_a_services_ports_are_its_pods_ports(objects):
    for service in of(objects, "Service"):
        for found in objects:
            if pod(found) and selects(service["spec"]["selector"], found["spec"]["template"]["metadata"]["labels"]):
                names = {port["name"] for container in containers(found) for port in container.get("ports", [])}
                assert {port["targetPort"] for port in service["spec"]["ports"]} <= names


def test_every_pod_is_restricted(objects):
    """The namespace enforces the level `restricted` of the Pod Security Standards."""
    makers = [found for found in objects if pod(found)]
    assert makers
    for found in makers:
        spec = pod(found)
        assert spec["securityContext"]["runAsNonRoot"] and spec["securityContext"]["runAsUser"] == 65532
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not spec["automountServiceAccountToken"]
        for container in spec["containers"]:
            security = container["securityContext"]
            assert security["readOnlyRootFilesystem"] and not security["allowPrivilegeEscalation"]
            assert security["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]


def test_what_a_container_mounts_is_there(objects):
    for found in objects:
        volumes = {volume["name"] for volume in pod(found).get("volumes", [])}
        volumes |= {claim["metadata"]["name"] for claim in found.get("spec", {}).get("volumeClaimTemplates", [])}
        for container in containers(found):
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


def test_the_program_takes_every_command(objects, takes):
    dockerfile = (DEPLOY / "container/Dockerfile").read_text()
    assert 'ENTRYPOINT ["/usr/local/bin/motherlode", "serve"' in dockerfile
    for found in objects:
        for container in containers(found):
            program, *command = container.get("command", ["/usr/local/bin/motherlode", "serve"])
            assert program == "/usr/local/bin/motherlode"
            takes(command + container["args"])
            for probe in (container.get(f"{kind}Probe") for kind in ("startup", "readiness", "liveness")):
                if probe and "exec" in probe:
                    program, *command = probe["exec"]["command"]
                    assert program == "/usr/local/bin/motherlode"
                    takes(command)


def test_uf_10_nothing_is_restarted_because_the_log_cannot_be_written(objects):
    """Spin and wallet services recover without a restart."""
    every = [container for found in objects for container in containers(found)]
    probes = [container["livenessProbe"] for container in every if "livenessProbe" in container]
    for probe in probes:
        asked = [word for word in probe.get("exec", {}).get("command", []) if word.startswith("--service=")]
        assert "tcpSocket" in probe or asked, "the process as a whole"
        assert not re.search("Spin|Ledger", "".join(asked)), asked


def test_a_probe_asks_for_a_service_that_there_is(objects):
    protos = "".join(path.read_text() for path in sorted((ROOT / "proto/motherlode").rglob("*.proto")))
    for asked in re.findall(r"--service=motherlode\.\w+\.v1\.(\w+)", yaml.safe_dump_all(objects)):
        assert f"service {asked} " in protos
