# Thousands of call paths, blocks that stay and blocks that go: parses, compiles and stores what is in the standard library.
# One thread compiles, another one writes JSON and reads it again.
import ast
import json
import pathlib
import sysconfig
import threading

FOLDER = pathlib.Path(sysconfig.get_paths()["stdlib"])
FILES = [path.read_text(errors="replace") for path in sorted(FOLDER.glob("*.py"))[:40]]
kept = []


def names():
    for text in FILES:
        found = {"lines": [{"number": at, "words": line.split()} for at, line in enumerate(text.splitlines())]}
        kept.append(len(json.loads(json.dumps(found))["lines"]))


other = threading.Thread(target=names)
other.start()
for text in FILES:
    tree = ast.parse(text)
    kept.append(compile(tree, "text", "exec"))
    kept.append({node.name: ast.dump(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)})
other.join()
