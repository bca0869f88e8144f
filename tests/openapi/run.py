"""Runs schemathesis against the served OpenAPI document of a local service.

    python3 tests/openapi/run.py MOTHERLODE [SECONDS]

Fails on a status of 500 or above, and on an answer that does not match the document. Streams without an end are skipped.
"""

import os
import subprocess
import sys

from local import served

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
ENDLESS = ["LedgerService_FollowLog", "JackpotService_WatchCounters", "ReportService_WatchSignificantEvents"]


def main(motherlode, seconds="600"):
    with served(motherlode) as (address, service):
        tool = ["schemathesis", "run", f"{address}/openapi.json", "--url", address, "--checks", CHECKS]
        tool += ["--phases", "coverage,fuzzing", "--max-time", seconds, "--continue-on-failure", "--workers", "2"]
        # Without this header, schemathesis chooses deadlines of milliseconds, and calls are answered with 504.
        tool += ["--header", "grpc-timeout: 20S", "--request-timeout", "30", "--suppress-health-check", "all", "--warnings", "off"]
        for operation in ENDLESS:
            tool += ["--exclude-operation-id", operation]
        code = subprocess.run(tool, env={**os.environ, "COLUMNS": "160"}).returncode
        assert service.poll() is None, "the service ended"
        return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
