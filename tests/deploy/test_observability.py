import json
import os
import re
import shutil
import subprocess

import promql_parser
import pytest
import yaml
from conftest import DEPLOY

FOLDER = DEPLOY / "observability"
PROMTOOL = os.environ.get("MOTHERLODE_PROMTOOL") or shutil.which("promtool")
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text())
RULES = [rule for group in yaml.safe_load((FOLDER / "rules.yaml").read_text())["groups"] for rule in group["rules"]]


@pytest.mark.skipif(not PROMTOOL, reason="promtool is missing (Debian: apt-get install prometheus): alarms are parsed but not tested")
@pytest.mark.parametrize("arguments", [["check", "rules", "rules.yaml"], ["test", "rules", "rules.test.yaml"]])
def test_promtool_finds_nothing_wrong_and_alarms_sound_when_they_must(arguments):
    ran = subprocess.run([PROMTOOL, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_alarm_is_a_query_and_says_what_to_do():
    assert len(RULES) > 5
    for rule in RULES:
        promql_parser.parse(rule["expr"])
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert rule["annotations"].keys() == {"summary", "description"}


def test_every_alarm_is_tested():
    tested = yaml.safe_load((FOLDER / "rules.test.yaml").read_text())["tests"]
    sounded = {case["alertname"] for test in tested for case in test["alert_rule_test"] if case.get("exp_alerts")}
    assert {rule["alert"] for rule in RULES} == sounded


def test_at_e_every_alarm_has_an_entry_in_the_runbook():
    _, *entries = re.split(r"^## ", (FOLDER / "RUNBOOK.md").read_text(), flags=re.MULTILINE)
    assert [entry.split("\n", 1)[0] for entry in entries] == [rule["alert"] for rule in RULES]
    for entry in entries:
        assert re.findall(r"^- \*\*(\w+)\.\*\* \S", entry, re.MULTILINE) == ["Meaning", "Diagnosis", "Action"], entry


def test_every_picture_is_a_query_with_a_place_of_its_own():
    panels = DASHBOARD["panels"]
    assert len(panels) > 8
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        for target in panel["targets"]:
            promql_parser.parse(target["expr"])
        place = panel["gridPos"]
        columns, rows = (range(place[at], place[at] + place[size]) for at, size in ("xw", "yh"))
        cells = {(x, y) for x in columns for y in rows}
        assert max(x for x, _ in cells) < 24 and not cells & taken, panel["title"]
        taken |= cells
        assert panel["datasource"]["uid"] == "${source}" and panel["description"]
        for target in panel["targets"]:
            for label in re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")):
                assert label in target["expr"], f"{panel['title']}: the metric has no label {label}"


def test_a_query_that_is_none_is_refused():
    with pytest.raises(ValueError):
        promql_parser.parse("sum by (")


def test_the_collectors_pipelines_are_made_of_what_it_defines():
    collector = yaml.safe_load((FOLDER / "collector.yaml").read_text())
    for pipeline in collector["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert set(pipeline[kind]) <= collector[kind].keys()
