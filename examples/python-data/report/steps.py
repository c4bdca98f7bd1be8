"""The steps of the pipeline."""

import csv
import os
from collections import defaultdict
from decimal import Decimal, InvalidOperation

FIELDS = ["date", "region", "product", "quantity", "price"]
COLUMNS = ["region", "product", "month"]


class BadFile(Exception):
    """The file is no list of sales, or has rows that cannot be used."""


def rows(source):
    with open(source, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames != FIELDS:
            raise BadFile(f"{source} has the columns {reader.fieldnames}, not {FIELDS}")
        yield from reader


def mistake(row):
    """What is wrong with a row, or None."""
    try:
        if int(row["quantity"]) <= 0:
            return "quantity is not positive"
    except (TypeError, ValueError):
        return "quantity is not a number"
    try:
        Decimal(row["price"])
    except (TypeError, InvalidOperation):
        return "price is not a number"
    return None


def clean(source, good, bad):
    """Write the rows that can be used to good, and the others, with the reason, to bad."""
    kept, rejected = [], []
    for row in rows(source):
        reason = mistake(row)
        if reason:
            rejected.append({**row, "reason": reason})
        else:
            kept.append(row)
    write(good, FIELDS, kept)
    write(bad, [*FIELDS, "reason"], rejected)
    return len(kept), len(rejected)


def write(name, fields, found):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


def summarize(source, by):
    """Quantity and revenue for each value of a column."""
    sums = defaultdict(lambda: [0, Decimal(0)])
    for number, row in enumerate(rows(source), 1):
        if reason := mistake(row):
            raise BadFile(f"row {number} of {source} cannot be used: {reason}; clean it first")
        key = row["date"][:7] if by == "month" else row[by]
        quantity = int(row["quantity"])
        sums[key][0] += quantity
        sums[key][1] += quantity * Decimal(row["price"])
    return [
        {by: key, "quantity": quantity, "revenue": f"{revenue:.2f}"}
        for key, (quantity, revenue) in sorted(sums.items())
    ]
