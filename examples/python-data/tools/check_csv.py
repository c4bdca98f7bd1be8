"""Checks that the CSV files below a directory can be read and have even rows."""

import csv
import pathlib
import sys

files = sorted(pathlib.Path(sys.argv[1]).rglob("*.csv"))
failed = False
for done, path in enumerate(files, 1):
    print(f"toolhost:progress {done}/{len(files)} {path}", file=sys.stderr, flush=True)
    try:
        with open(path, newline="", encoding="utf-8") as file:
            widths = {len(row) for row in csv.reader(file)}
        verdict = "ok" if len(widths) == 1 else f"rows of {sorted(widths)} fields"
    except (UnicodeDecodeError, csv.Error) as error:
        verdict = str(error)
    failed = failed or verdict != "ok"
    print(f"{path}: {verdict}")
sys.exit(failed)
