# Prints which of the modules on stdin exist, and which belong to Python itself, as JSON both.
import importlib.util, json, sys
names = json.load(sys.stdin)
found = []
for name in names:
    try:
        if importlib.util.find_spec(name):
            found.append(name)
    except Exception:
        pass
print(json.dumps({"found": found, "own": [name for name in names if name in sys.stdlib_module_names]}))
