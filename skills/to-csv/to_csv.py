"""JSON array of objects, or JSON Lines, to CSV."""

import csv
import json
import os
import sys


def read_rows(text):
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = read_lines(text)
    rows = value if isinstance(value, list) else [value]
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            sys.exit(f"Entry {number} is not a JSON object.")
    return rows


def read_lines(text):
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() == "":
            continue
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as error:
            sys.exit(f"Line {number} is not valid JSON: {error.msg}.")
    return rows


def cell(value):
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def output_path():
    """Named after the upload where it has a name, else the plain output file."""
    name = os.environ.get("HULL_INPUT_FILENAME")
    if not name:
        return os.environ["HULL_OUTPUT_FILE"]
    stem = os.path.splitext(os.path.basename(name))[0] or "table"
    return os.path.join(os.environ["HULL_OUTPUT_DIR"], f"{stem}.csv")


def main():
    with open(os.environ["HULL_INPUT_FILE"], encoding="utf-8-sig") as source:
        rows = read_rows(source.read())
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with open(output_path(), "w", encoding="utf-8", newline="") as target:
        table = csv.writer(target)
        table.writerow(columns)
        table.writerows([cell(row.get(column)) for column in columns] for row in rows)
    print(f"{len(rows)} rows, {len(columns)} columns")


main()
