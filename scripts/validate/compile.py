# Compiles each text of a list from stdin and prints the faults, as JSON both. It runs nothing of a text.
import json, sys, warnings
warnings.simplefilter("ignore")
faults = []
for index, text in enumerate(json.load(sys.stdin)):
    try:
        compile(text, "handler.py", "exec", dont_inherit=True)
    except SyntaxError as error:
        faults.append({"index": index, "message": error.msg, "line": error.lineno, "column": error.offset})
    except Exception as error:
        faults.append({"index": index, "message": str(error), "line": None, "column": None})
print(json.dumps(faults))
