"""Memory of exports of long logs: the peak doesn't grow with the log (PL-34).

    python3 tests/long_export.py MOTHERLODE LONG_LOG [ROUNDS ...]

LONG_LOG is services/audit/examples/long_log.rs as a program. Each table of each log is exported in each format by a process of its own,
whose peak is the kernel's account of it. Fails where one is above the bound, or grows from the shortest log to the longest.
"""

import os
import subprocess
import sys
import tempfile

PLAYERS = 5_000
# Megabytes that any export may take, and that two runs of one export may differ by.
BOUND, BETWEEN_RUNS = 96, 8
WHATS, FORMATS = ["rounds", "transactions", "revenue", "events"], ["csv", "jsonl", "parquet"]


def exported(motherlode, log, what, form, out):
    """The peak of an export in megabytes, and the bytes that it wrote."""
    command = [motherlode, "export", log, "--what", what, "--format", form, "--out", out]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    size = os.path.getsize(out)
    os.remove(out)
    return used.ru_maxrss / 1024, size


def main(motherlode, long_log, *lengths):
    lengths = [int(length) for length in lengths] or [50_000, 200_000]
    peaks = {}
    with tempfile.TemporaryDirectory() as folder:
        for rounds in lengths:
            log = os.path.join(folder, str(rounds))
            subprocess.run([long_log, str(rounds), str(PLAYERS), log], check=True)
            for what in WHATS:
                for form in FORMATS:
                    peaks[what, form, rounds] = exported(motherlode, log, what, form, os.path.join(folder, "out"))
    print("peak in MB (and MB written) by rounds:", *lengths)
    failed = False
    for what in WHATS:
        for form in FORMATS:
            of = [peaks[what, form, rounds] for rounds in lengths]
            wrong = max(peak for peak, _ in of) > BOUND or of[-1][0] > of[0][0] + BETWEEN_RUNS
            failed |= wrong
            figures = "  ".join(f"{peak:6.1f} ({size / 2**20:6.1f})" for peak, size in of)
            print(f"{what:13} {form:8} {figures}{'  above the bound, or it grows' if wrong else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
