#!/usr/bin/env python3
"""Reports of all traces given are as docs/reference/report.schema.json says, as a whole and table by table.

    json_schema.py WARPSHEET SCHEMA TRACE...

Validates with the keywords that the schema uses and refuses any other, so that
nothing in the schema is silently not checked.
"""
import json
import subprocess
import sys

KNOWN = {
    "$schema", "$defs", "$ref", "title", "description", "type", "properties", "required",
    "additionalProperties", "items", "enum", "oneOf",
}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "null": lambda v: v is None,
}


class Invalid(Exception):
    pass


def validate(value, schema, root, at="$"):
    unknown = set(schema) - KNOWN
    if unknown:
        sys.exit(f"the schema uses {unknown}, which this test cannot check")
    if "$ref" in schema:
        target = root
        for key in schema["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        validate(value, target, root, at)
    if "type" in schema and not TYPES[schema["type"]](value):
        raise Invalid(f"{at} is no {schema['type']}")
    if "enum" in schema and value not in schema["enum"]:
        raise Invalid(f"{at} is {value!r}, none of {schema['enum']}")
    if "oneOf" in schema:
        fits, why = 0, []
        for option in schema["oneOf"]:
            try:
                validate(value, option, root, at)
                fits += 1
            except Invalid as e:
                why.append(str(e))
        if fits != 1:
            raise Invalid(f"{at} fits {fits} of {len(schema['oneOf'])} options: {'; '.join(why)}")
    for key in schema.get("required", ()):
        if key not in value:
            raise Invalid(f"{at} lacks {key}")
    if isinstance(value, dict):
        other = schema.get("additionalProperties", True)
        for key, child in value.items():
            if key in schema.get("properties", {}):
                validate(child, schema["properties"][key], root, f"{at}.{key}")
            elif isinstance(other, dict):
                validate(child, other, root, f"{at}.{key}")
            elif other is False:
                raise Invalid(f"{at} has an unknown key {key}")
    if isinstance(value, list) and "items" in schema:
        for i, child in enumerate(value):
            validate(child, schema["items"], root, f"{at}[{i}]")


def check_types(table):
    """What a schema cannot say: cells are of their column's type, rows as long as columns."""
    allowed = {"text": str, "integer": int, "number": (int, float)}
    rows = table["rows"] + ([table["totals"]] if table["totals"] else [])
    ids = [c["id"] for c in table["columns"]]
    if len(set(ids)) != len(ids):
        raise Invalid(f"{table['table']}: an id twice")
    for row in rows:
        if len(row) != len(ids):
            raise Invalid(f"{table['table']}: a row has {len(row)} cells, not {len(ids)}")
        for cell, column in zip(row, table["columns"]):
            if cell is not None and not isinstance(cell, allowed[column["type"]]):
                raise Invalid(f"{table['table']}: {cell!r} in column {column['id']}")


def run(warpsheet, *arguments):
    done = subprocess.run([warpsheet, *arguments], capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{arguments}: exit status {done.returncode}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def main():
    warpsheet, schema_path, *traces = sys.argv[1:]
    with open(schema_path, encoding="utf-8") as f:
        schema = json.load(f)
    for broken in ({}, {"title": 1}, {"title": "", "trace": "", "filter": "", "tables": {"x": {}}}):
        try:
            validate(broken, schema, schema)
        except Invalid:
            continue
        sys.exit(f"self-test: {broken} passes")

    checked = 0
    runs = [("report", t) for t in traces] + [("diff", traces[0], t) for t in traces]
    for arguments in runs:
        report = run(warpsheet, *arguments, "--format", "json")
        validate(report, schema, schema)
        for name, table in report["tables"].items():
            check_types(table)
            alone = run(warpsheet, *arguments, "--format", "json", "--table", name)
            validate(alone, schema, schema)
            if alone != table or name != table["table"]:
                sys.exit(f"{arguments}: --table {name} is not the table of the whole report")
            checked += 1
    print(f"{checked} tables are as the schema says")


try:
    main()
except Invalid as e:
    sys.exit(str(e))
