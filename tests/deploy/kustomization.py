"""Renders deploy/kubernetes without kubectl. Supports only the features of kustomize that these files use.

An unknown field is an error. If kubectl is installed, a test compares the result with kubectl's.
"""

import copy
from pathlib import Path

import yaml

FIELDS = {"apiVersion", "kind", "namespace", "resources", "images", "labels", "patches", "replicas"}
CLUSTER_WIDE = {"Namespace", "PriorityClass"}
KEYS = {"containers": "name", "volumes": "name", "volumeMounts": "mountPath", "ports": "containerPort", "env": "name"}


def render(folder: Path) -> list[dict]:
    told = yaml.safe_load((folder / "kustomization.yaml").read_text())
    assert not told.keys() - FIELDS, f"{folder}: {told.keys() - FIELDS} is not supported by this renderer"
    objects = []
    for resource in told["resources"]:
        path = folder / resource
        objects += render(path) if path.is_dir() else [found for found in yaml.safe_load_all(path.read_text()) if found]
    for patch in told.get("patches", []):
        for found in objects:
            if found["kind"] in patch["target"]["kind"].split("|"):
                merge(found, yaml.safe_load((folder / patch["path"]).read_text()), named=True)
    for found in objects:
        if "namespace" in told and found["kind"] not in CLUSTER_WIDE:
            found["metadata"]["namespace"] = told["namespace"]
        for labels in told.get("labels", []):
            assert labels.keys() <= {"pairs", "includeTemplates"}
            found["metadata"].setdefault("labels", {}).update(labels["pairs"])
            if labels.get("includeTemplates") and "template" in found.get("spec", {}):
                found["spec"]["template"].setdefault("metadata", {}).setdefault("labels", {}).update(labels["pairs"])
        for container in containers(found):
            for image in told.get("images", []):
                if container["image"].split(":")[0] == image["name"]:
                    container["image"] = f"{image['newName']}:{image['newTag']}"
    return objects


def containers(found: dict) -> list[dict]:
    return pod(found).get("containers", [])


def pod(found: dict) -> dict:
    return found.get("spec", {}).get("template", {}).get("spec", {})


def merge(into: dict, patch: dict, named: bool = False):
    """Applies a strategic merge patch. `named`: the target was selected by kind, so the name in the patch is ignored."""
    for key, value in patch.items():
        if named and key in ("apiVersion", "kind", "metadata"):
            continue
        if isinstance(value, dict):
            merge(into.setdefault(key, {}), value)
        elif key in KEYS and key in into:
            # As in kustomize, existing entries are changed in place, and new entries are inserted at the beginning.
            new = []
            for entry in value:
                same = [found for found in into[key] if found[KEYS[key]] == entry[KEYS[key]]]
                if same:
                    merge(same[0], entry)
                else:
                    new.append(copy.deepcopy(entry))
            into[key][:0] = new
        else:
            into[key] = copy.deepcopy(value)
