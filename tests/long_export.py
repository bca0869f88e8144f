"""Checks that the memory of an export does not grow with the log (PL-34).

    python3 tests/long_export.py MOTHERLODE [ROUNDS ...]

The peak memory of each export must be below BOUND, and must grow by less than MORE from the shortest to the longest log.
"""

import os
import subprocess
import sys
import tempfile

PLAYERS = 5_000
# Bounds in megabytes. The bounds have a margin, because peaks vary between runs.
BOUND, MORE = 128, 16
WHATS, FORMATS = ["rounds", "transactions", "revenue", "events"], ["csv", "jsonl", "parquet"]


def exported(motherlode, log, what, form, out):
    command = [motherlode, "export", what, log, "--format", form, "--out", out]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    size = os.path.getsize(out)
    os.remove(out)
    return used.ru_maxrss / 1024, size


def play(motherlode, data, rounds):
    serve = [motherlode, "serve", "--listen", "127.0.0.1:0", "--no-console", "--data", data]
    quiet = {**os.environ, "RUST_LOG": "warn"}
    service = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, env=quiet)
    try:
        address = next(line for line in service.stdout if "listens on" in line).split("listens on ")[1].split(",")[0].strip()
        load = ["loadtest", "--target", f"http://{address}", "--stream", "--concurrency", "256"]
        load += ["--rounds", str(rounds), "--players", str(PLAYERS), "--seconds-max", "3600"]
        subprocess.run([motherlode, *load], check=True, stdout=subprocess.DEVNULL)
        service.terminate()
        assert service.wait(timeout=120) == 0
    finally:
        service.kill()
        service.wait()
        service.stdout.close()


def main(motherlode, *lengths):
    lengths = [int(length) for length in lengths] or [50_000, 200_000]
    peaks, played = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        for rounds in lengths:
            play(motherlode, data, rounds - played)
            played = rounds
            for what in WHATS:
                for form in FORMATS:
                    peaks[what, form, rounds] = exported(motherlode, data, what, form, os.path.join(folder, "out"))
    print("peak in MB (and MB written) by rounds:", *lengths)
    failed = False
    for what in WHATS:
        for form in FORMATS:
            of = [peaks[what, form, rounds] for rounds in lengths]
            wrong = max(peak for peak, _ in of) > BOUND or of[-1][0] > of[0][0] + MORE
            failed |= wrong
            figures = "  ".join(f"{peak:6.1f} ({size / 2**20:6.1f})" for peak, size in of)
            print(f"{what:13} {form:8} {figures}{'  above the bound, or growing' if wrong else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
