# Makes, writes and reads JSON: many small objects with short lives.
import json

data = [
    {"id": i, "name": f"name{i}", "tags": ["a", "b", str(i)], "at": {"x": i * 1.5, "y": [i, i + 1]}}
    for i in range(3000)
]
for _ in range(20):
    text = json.dumps(data)
    data = json.loads(text)
print(len(text))
