"""Checks profiles by speedscope's published schema, and prints the sums of each as JSON, by name: python speedscope.py FILE."""

import json
import sys
from pathlib import Path

import jsonschema

# Of the npm package speedscope, unpacked into this environment.
schema = json.loads((Path(sys.prefix) / "package/dist/release/file-format-schema.json").read_text())
file = json.load(open(sys.argv[1], encoding="utf-8"))
jsonschema.Draft7Validator.check_schema(schema)
jsonschema.Draft7Validator(schema).validate(file)
frames = file["shared"]["frames"]
sums = {}
for profile in file["profiles"]:
    assert profile["name"] not in sums, profile["name"]
    assert all(0 <= frame < len(frames) for stack in profile["samples"] for frame in stack)
    sums[profile["name"]] = sum(profile["weights"])
print(json.dumps({"sums": sums, "units": {profile["name"]: profile["unit"] for profile in file["profiles"]}}))
