"""Runs each SQL statement of a document in a folder, and prints what it finds as JSON: by the heading above it, in order."""

import json
import re
import sys

import duckdb

document, only = sys.argv[1], sys.argv[2:]
heading, found = None, {}
text = open(document, encoding="utf-8").read()
for match in re.finditer(r"^### ([^\n]+)$|^```sql\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
    if match[1]:
        heading = match[1]
    elif not only or heading in only:
        result = duckdb.sql(match[2].strip().rstrip(";"))
        rows = [dict(zip(result.columns, row)) for row in result.fetchall()]
        found.setdefault(heading, []).append(rows)
print(json.dumps(found, default=float))
