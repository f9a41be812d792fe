# Runs a Python handler, in a process of its own or in a fork of a warm interpreter. Python 3.8.
#
#   python3 FILE script [args]     stdin: the arguments as JSON; descriptor 3: the result; 1 and 2: its other output
#
# On descriptor 3 it writes messages, each `RS JSON LF`: `{"value": ...}` or `{"error": "..."}`. A file that binds no
# `handler` is run as a program instead: descriptor 3 becomes its stdout.

import ast, fcntl, importlib.util, json, os, sys, types

MOST_BYTES = 5 * 1024 * 1024
MOST_CHARACTERS = 20000
STARTUP_MODULES = frozenset(sys.modules)
result = 3

class Unsendable(Exception):
    pass

def report(kind, value):
    try:
        text = json.dumps({kind: value}, ensure_ascii=False, allow_nan=False)
        try:
            data = text.encode("utf-8")
        except UnicodeEncodeError:
            data = json.dumps({kind: value}, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise Unsendable("The result is not JSON: %s" % error)
    if len(data) > MOST_BYTES:
        raise Unsendable("The result has %d bytes as JSON; at most %d are taken." % (len(data), MOST_BYTES))
    data = memoryview(b"\x1e" + data + b"\n")
    while data:
        data = data[os.write(result, data):]

def names(target):
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [name for item in target.elts for name in names(item)]
    return names(target.value) if isinstance(target, ast.Starred) else []

def is_main_guard(test):
    if isinstance(test, ast.BoolOp):
        return any(is_main_guard(value) for value in test.values)
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = [test.left] + test.comparators
    name = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    return name and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)

def binds_handler(body):
    return any(binds(node) for node in body)

def binds(node):
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name == "handler"
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return any((alias.asname or alias.name.split(".")[0]) == "handler" for alias in node.names)
    if isinstance(node, ast.Assign):
        return any("handler" in names(target) for target in node.targets)
    if isinstance(node, ast.AnnAssign):
        return node.value is not None and "handler" in names(node.target)
    if isinstance(node, ast.If):
        return binds_handler(node.orelse) or (not is_main_guard(node.test) and binds_handler(node.body))
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return binds_handler(node.body)
    if type(node).__name__ in ("Try", "TryStar"):
        parts = [node.body, node.orelse, node.finalbody] + [handler.body for handler in node.handlers]
        return any(binds_handler(part) for part in parts)
    return False

def forget_shadowed(folder):
    # A module next to the script wins over one of the same name in this interpreter.
    for name in os.listdir(folder):
        stem = name[:-3] if name.endswith(".py") else name
        if stem in sys.modules and stem not in STARTUP_MODULES:
            for known in [known for known in sys.modules if known == stem or known.startswith(stem + ".")]:
                del sys.modules[known]

def message_of(error):
    try:
        text = str(error)
        if len(text) > MOST_CHARACTERS:
            # Up to a blank: redaction does not recognise a part of a secret.
            text = text[:MOST_CHARACTERS].rpartition(" ")[0] or text[:MOST_CHARACTERS]
        return text or type(error).__name__
    except Exception:
        return type(error).__name__

def show(error, script):
    import traceback
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != script:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)

def location_in(error, script):
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == script:
            line = trace.tb_lineno
        trace = trace.tb_next
    name = os.path.relpath(script, os.environ.get("HULL_SKILL_DIR", os.path.dirname(script)))
    return "(%s)" % name if line is None else "(%s, line %d)" % (name, line)

def exit_status(error):
    if error.code is None:
        return 0, "The handler called sys.exit(), with status 0, instead of returning."
    if isinstance(error.code, int):
        return error.code & 0xFF, "The handler called sys.exit(%d) instead of returning." % error.code
    print(error.code, file=sys.stderr)
    return 1, "The handler called sys.exit, with status 1: %s" % message_of(error)

def run_program(code, script):
    os.dup2(result, 1)
    module = types.ModuleType("__main__")
    module.__file__ = script
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)
    except SystemExit as error:
        return exit_status(error)[0]
    except BaseException as error:
        show(error, script)
        return 1
    return 0

async def settled(value):
    return await value

def run_handler(code, script):
    stem = os.path.basename(script).rpartition(".")[0]
    name = stem if stem not in sys.modules else "handler_" + stem
    spec = importlib.util.spec_from_file_location(name, script)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loaded = False
    try:
        exec(code, module.__dict__)
        handler = getattr(module, "handler", None)
        if not callable(handler):
            report("error", "handler is not a function %s" % location_in(TypeError(), script))
            return 1
        loaded = True
        with os.fdopen(0, "rb", closefd=False) as stdin:
            value = handler(json.loads(stdin.read().decode("utf-8")))
        if hasattr(type(value), "__await__"):
            import asyncio
            value = asyncio.run(settled(value))
        report("value", value)
        return 0
    except Unsendable as error:
        report("error", str(error))
    except SystemExit as error:
        status, text = exit_status(error)
        report("error", text)
        return status
    except BaseException as error:
        show(error, script)
        # While the file is loading, the fault is in the file: the message gives the place.
        location = "" if loaded or isinstance(error, SyntaxError) else " " + location_in(error, script)
        report("error", message_of(error) + location)
    return 1

def run(script, rest):
    global result
    # A high number, since handlers may use low descriptors; closed in the programs that they start.
    result = fcntl.fcntl(3, fcntl.F_DUPFD_CLOEXEC, 64)
    os.close(3)
    sys.argv = [script] + rest
    # As Python does for a program: the modules beside the file to which a link leads.
    folder = os.path.dirname(os.path.realpath(script))
    sys.path.insert(0, folder)
    try:
        forget_shadowed(folder)
        with open(script, "rb") as file:
            tree = ast.parse(file.read(), script)
        code = compile(tree, script, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        show(error, script)
        report("error", message_of(error))
        return 1
    if not binds_handler(tree.body):
        return run_program(code, script)
    sys.stdout.reconfigure(line_buffering=True)
    return run_handler(code, script)
