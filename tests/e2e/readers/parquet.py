"""Adds up the columns of a table as pyarrow and ClickHouse read it, and prints both as JSON: python parquet.py FILE COLUMN..."""

import json
import sys

import chdb
import pyarrow.compute
import pyarrow.parquet

file, columns = sys.argv[1], sys.argv[2:]
table = pyarrow.parquet.read_table(file)
by_pyarrow = [pyarrow.compute.sum(table[column]).as_py() for column in columns]
sums = ", ".join(f"sum({column})" for column in columns)
by_clickhouse = json.loads(chdb.query(f"SELECT [{sums}] AS all FROM file('{file}', Parquet)", "JSONEachRow").bytes())["all"]
print(json.dumps({"pyarrow": by_pyarrow, "clickhouse": [int(value) for value in by_clickhouse]}))
