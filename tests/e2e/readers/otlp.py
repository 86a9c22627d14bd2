"""Reads profiles by OpenTelemetry's published definitions, and prints their sums as JSON, by sample type: python otlp.py FILE."""

import json
import sys

from definitions import check
from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData

file = open(sys.argv[1], "rb").read()
data = ProfilesData()
data.ParseFromString(file)
check(data)
assert data.SerializeToString(deterministic=True) == file, "written again, it is another file"
dictionary = data.dictionary
text, functions, locations = dictionary.string_table, dictionary.function_table, dictionary.location_table
sums, of_main = {}, {}
for resource in data.resource_profiles:
    for scope in resource.scope_profiles:
        for profile in scope.profiles:
            name = text[profile.sample_type.type_strindex]
            assert name not in sums, name
            sums[name], of_main[name] = 0, 0
            for sample in profile.samples:
                stack = dictionary.stack_table[sample.stack_index].location_indices
                names = {text[functions[line.function_index].name_strindex] for at in stack for line in locations[at].lines}
                value = sum(sample.values)
                sums[name] += value
                of_main[name] += value if "main" in names else 0
print(json.dumps({"sums": sums, "main": of_main}))
