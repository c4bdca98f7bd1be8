"""python -m report clean IN OUT REJECTED; python -m report summarize IN --by COLUMN"""

import argparse
import json
import sys

from report import steps


def main() -> int:
    parser = argparse.ArgumentParser(prog="report", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    clean = commands.add_parser("clean", help="separate the rows that can be used from the others")
    for name in ("source", "good", "bad"):
        clean.add_argument(name)
    summarize = commands.add_parser("summarize", help="add up quantity and revenue by a column, as JSON")
    summarize.add_argument("source")
    summarize.add_argument("--by", choices=steps.COLUMNS, default="region")
    given = parser.parse_args()

    try:
        if given.command == "clean":
            kept, rejected = steps.clean(given.source, given.good, given.bad)
            print(f"{kept} rows kept, {rejected} rejected")
        else:
            json.dump(steps.summarize(given.source, given.by), sys.stdout, indent=2)
            print()
    except (OSError, steps.BadFile) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    return 0


sys.exit(main())
