import re
import shutil
import subprocess

import kubernetes_validate
import pytest
import yaml
from conftest import BINARY, DEPLOY, ROOT
from kustomization import containers, pod, render
from test_container import certificate

KUBERNETES = DEPLOY / "kubernetes"
VERSIONS = ["1.30", "1.37"]
CUSTOM = {"PodMonitor"}
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
        if found["kind"] not in CUSTOM:
            kubernetes_validate.validate(found, version, strict=True)


def test_the_schemas_refuse_what_is_wrong():
    wrong = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}, "spec": {"prots": []}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[-1], strict=True)


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is missing: its rendering is not compared with that of the tests")
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
        chosen = [labels for labels in pods if selects(selector.get("matchLabels", {}), labels)]
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
            if container["name"] == "collector":
                continue
            program, *command = container.get("command", ["/usr/local/bin/motherlode", "serve"])
            assert program == "/usr/local/bin/motherlode"
            takes(command + container["args"])
            for probe in (container.get(f"{kind}Probe") for kind in ("startup", "readiness", "liveness")):
                if probe and "exec" in probe:
                    program, *command = probe["exec"]["command"]
                    assert program == "/usr/local/bin/motherlode"
                    takes(command)


def test_uf_10_nothing_is_restarted_because_the_log_cannot_be_written(objects):
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


def served():
    for folder in ("base", "distributed"):
        for found in render(KUBERNETES / folder):
            if pod(found):
                yield found, render(KUBERNETES / folder)


def test_prometheus_scrapes_every_pod_and_a_policy_lets_it():
    (monitor,) = of(render(KUBERNETES / "monitoring"), "PodMonitor")
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    for found, objects in served():
        labels = found["spec"]["template"]["metadata"]["labels"] | {"app.kubernetes.io/name": "motherlode"}
        assert selects(monitor["spec"]["selector"]["matchLabels"], labels)
        assert found["metadata"]["namespace"] in monitor["spec"]["namespaceSelector"]["matchNames"]
        (container,) = containers(found)
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        assert f"0.0.0.0:{ports[endpoint['port']]}" in " ".join(container["args"])
        policies = {of["metadata"]["name"]: of for of in objects if of["kind"] == "NetworkPolicy"}
        policy = policies["motherlode"]
        entered = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
        assert ports[endpoint["port"]] in entered


def test_wallets_and_witnesses_are_reached_by_those_that_call_them():
    callers = {"service", "ledger", "spin"}
    reached = set()
    for found, objects in served():
        labels = found["spec"]["template"]["metadata"]["labels"]
        policies = {of["metadata"]["name"]: of for of in objects if of["kind"] == "NetworkPolicy"}
        policy = policies["wallets-and-witnesses"]
        selector = policy["spec"]["podSelector"]
        component = labels["app.kubernetes.io/component"]
        expressions = selector.get("matchExpressions", [])
        chosen = selects(selector.get("matchLabels", {}), labels)
        chosen &= all(labels[of["key"]] in of["values"] for of in expressions)
        if chosen:
            reached.add(component)
        blocks = [to["ipBlock"]["cidr"] for rule in policy["spec"]["egress"] for to in rule["to"] if "ipBlock" in to]
        assert blocks == ["0.0.0.0/0", "::/0"]
    assert reached == callers


def test_a_pod_ends_after_its_endpoint_and_has_time_for_its_calls():
    for found, objects in served():
        (container,) = containers(found)
        waits = container["lifecycle"]["preStop"]["sleep"]["seconds"]
        # The grace period covers preStop, then request_ms_max + award_wait_ms_max + 1 s, then the time to close the log.
        assert waits > 0 and pod(found)["terminationGracePeriodSeconds"] >= waits + 13 + 15
        (priority,) = of(objects, "PriorityClass")
        assert pod(found)["priorityClassName"] == priority["metadata"]["name"]


def test_the_collector_is_where_the_configurations_say():
    (service,) = of(render(KUBERNETES / "monitoring"), "Service")
    place = f"http://{service['metadata']['name']}.{service['metadata']['namespace']}:{service['spec']['ports'][0]['port']}"
    for file in (KUBERNETES / "distributed/motherlode.toml", DEPLOY / "motherlode.toml"):
        assert f'otlp_endpoint = "{place}"' in file.read_text()


def test_the_collectors_configuration_is_a_pipeline_of_what_it_defines():
    (configuration,) = of(render(KUBERNETES / "monitoring"), "ConfigMap")
    collector = yaml.safe_load(configuration["data"]["collector.yaml"])
    for pipeline in collector["service"]["pipelines"].values():
        for kind in pipeline:
            assert set(pipeline[kind]) <= collector[kind].keys()
    assert set(collector["service"]["extensions"]) <= collector["extensions"].keys()


def test_the_example_lets_a_pod_serve_its_metrics(tmp_path):
    certificate(tmp_path)
    for file in (DEPLOY / "motherlode.toml",):
        command = [BINARY, "config", "--telemetry", "0.0.0.0:9464", "--data", tmp_path / "data", "--config", file]
        sound = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert sound.returncode == 0, sound.stderr
