import json
import sys

text = sys.stdin.buffer.read().decode("utf-8")
lines = text.count("\n") + (0 if text == "" or text.endswith("\n") else 1)
json.dump({"lines": lines, "words": len(text.split()), "characters": len(text)}, sys.stdout)
