import json
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import pytest
import yaml
from conftest import BINARY
from test_observability import DASHBOARD, FOLDER, RULES

PROMETHEUS = shutil.which("prometheus")
SECONDS_MAX = 120

pytestmark = pytest.mark.skipif(not PROMETHEUS, reason="prometheus is missing: nothing scrapes the service")


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def until(look, log):
    end = time.monotonic() + SECONDS_MAX
    while not (found := look()):
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.2)
    return found


@pytest.fixture
def ask(tmp_path):
    target, own, log = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}", tmp_path / "log"
    scrape = {"job_name": "motherlode", "scrape_interval": "1s", "static_configs": [{"targets": [target]}]}
    settings = {"rule_files": [str(FOLDER / "rules.yaml")], "scrape_configs": [scrape]}
    (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(settings))

    def ask(path, **parameters):
        url = f"http://{own}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]

    def scraped():
        try:
            return [of for of in ask("query", query="up")["result"] if of["value"][1] == "1"]
        except OSError:
            return []

    serve = [BINARY, "serve", "--no-console", "--listen=127.0.0.1:0", f"--telemetry={target}", f"--data={tmp_path / 'data'}"]
    storage = [f"--storage.tsdb.path={tmp_path / 'tsdb'}", f"--config.file={tmp_path / 'prometheus.yaml'}"]
    with log.open("w") as written:
        started = [
            subprocess.Popen(command, stdout=written, stderr=written)
            for command in (serve, [PROMETHEUS, *storage, f"--web.listen-address={own}"])
        ]
        try:
            until(scraped, log)
            yield ask
        finally:
            for process in started:
                process.terminate()
                process.wait(timeout=60)


def test_prometheus_scrapes_the_service_and_answers_every_query(ask):
    (target,) = ask("targets")["activeTargets"]
    assert (target["health"], target["lastError"]) == ("up", "")
    loaded = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
    assert [rule["name"] for rule in loaded] == [rule["alert"] for rule in RULES]
    for query in [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]:
        ask("query", query=query)
    for name in ("motherlode_log_writable", "motherlode_process_serving", "motherlode_process_info"):
        (found,) = ask("query", query=name)["result"]
        assert found["value"][1] == "1", found
    (build,) = ask("query", query="motherlode_process_info")["result"]
    assert build["metric"]["role"] == "all" and build["metric"]["job"] == "motherlode"
