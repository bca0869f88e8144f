"""Generates clients from the served OpenAPI document with two public generators, and plays a round with each.

    python3 tests/openapi/generated.py MOTHERLODE

Needs openapi-python-client and npm. The programs `play.py` and `play.ts` contain only calls of the generated clients.
"""

import shutil
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from local import served

HERE = Path(__file__).parent


def played(command, folder):
    done = subprocess.run([*map(str, command)], cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    print(f"{command[1]}: {done.stdout.strip()}")
    assert done.stdout.split()[1] in ("ROUND_STATE_SETTLED", "ROUND_STATE_OPEN"), done.stdout


def main(motherlode):
    with tempfile.TemporaryDirectory() as name, served(motherlode) as (address, _):
        folder = Path(name)
        for program in ["play.py", "play.ts", "package.json", "package-lock.json", "tsconfig.json"]:
            shutil.copy(HERE / program, folder)
        urllib.request.urlretrieve(f"{address}/openapi.json", folder / "openapi.json")

        generate = ["openapi-python-client", "generate", "--path", "openapi.json", "--output-path", "generated", "--meta", "none"]
        subprocess.run(generate, cwd=folder, stdout=subprocess.DEVNULL, check=True)
        played([sys.executable, "play.py", address], folder)

        (folder / "generated").rename(folder / "python")
        subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=folder, check=True)
        tools = folder / "node_modules/.bin"
        subprocess.run([tools / "openapi-ts", "-i", "openapi.json", "-o", "generated"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        subprocess.run([tools / "tsc"], cwd=folder, check=True)
        played(["node", "built/play.js", address], folder)


if __name__ == "__main__":
    main(str(Path(sys.argv[1]).resolve()))
