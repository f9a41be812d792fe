# Runs the Python code on stdin as part of a session: it restores the global names that earlier code stored in the state
# file, which is the only argument, and stores them again after the code. It stores modules by name, classes by source,
# functions by code object, and values with pickle. What pickle cannot write, such as an open file, is lost; code that uses
# the name then gets a message.
#
# pickle is safe here: the file belongs to the container, and only code that may write it reads it.

import sys
from _signal import SIG_DFL, SIGTERM, raise_signal, signal

MOST_BYTES = 64 * 1024 * 1024
NAME = "<stdin>"
EARLIER = "<earlier code>"

class Session:
    def __init__(self, path):
        self.path = path
        # The code's own `__main__`, separate from this program's.
        self.module = type(sys)("__main__")
        self.module.__builtins__ = __builtins__
        self.names = self.module.__dict__
        # By name: the source of each function and class of earlier code, and what could not be kept.
        self.sources = {}
        self.lost = {}
        self.there = False

    def restore(self):
        import os
        self.there = os.path.exists(self.path)
        if not self.there:
            return
        import importlib, pickle
        try:
            with open(self.path, "rb") as file:
                kept = pickle.load(file)
            self.lost.update(kept["lost"])
            self.sources.update(kept["sources"])
        except Exception as error:
            print("[hull: the variables of the code before cannot be read: %s]" % error, file=sys.stderr)
            return
        for name, module in kept["modules"].items():
            try:
                self.names[name] = importlib.import_module(module)
            except Exception:
                self.lost[name] = "module"
        # Values may need classes and functions of the code's own.
        for name, code in kept["functions"].items():
            self.revive(name, code)
        self.define([name for name in self.sources if name not in self.names])
        try:
            values, defaults = pickle.loads(kept["together"])
            self.names.update(values)
            for name, (given, by_name) in defaults.items():
                if name in kept["functions"] and name in self.names:
                    self.names[name].__defaults__, self.names[name].__kwdefaults__ = given, by_name
        except Exception:
            self.lost.update(dict.fromkeys(kept["together_names"], "value"))
        self.define([name for name in self.sources if name not in self.names])

    def revive(self, name, code):
        import marshal
        try:
            self.names[name] = type(main)(marshal.loads(code), self.names, name)
        except Exception:
            # Of another version of Python: there may be its source.
            pass

    def define(self, names):
        for name in names:
            try:
                exec(compile(self.sources[name], EARLIER, "exec"), self.names)
            except Exception:
                pass

    def run(self, source):
        try:
            code = compile(source, NAME, "exec")
            exec(code, self.names)
            return 0
        except SystemExit as error:
            if error.code is None or isinstance(error.code, int):
                return error.code or 0
            print(error.code, file=sys.stderr)
            return 1
        except BaseException as error:
            self.tell(error, source)
            return 1

    def tell(self, error, source):
        import linecache, traceback
        linecache.cache[NAME] = (len(source), None, source.splitlines(True), NAME)
        # Without the frames of this program.
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != NAME:
            trace = trace.tb_next
        sys.stdout.flush()
        traceback.print_exception(type(error), error, trace)
        name = getattr(error, "name", None)
        if isinstance(error, NameError) and name in self.lost:
            said = "[hull: %s of the code before is not there: a %s cannot be kept from call to call. Make it again.]"
            print(said % (name, self.lost[name]), file=sys.stderr)

    def save(self, source):
        left = {name: value for name, value in self.names.items() if not (name.startswith("__") and name.endswith("__"))}
        if not left and not self.there:
            return
        import os, pickle
        kept = {"modules": {}, "functions": {}, "sources": {}, "lost": {}}
        own = {}
        values = {}
        defaults = {}
        for name, value in left.items():
            if isinstance(value, type(sys)):
                kept["modules"][name] = value.__name__
            elif getattr(value, "__module__", None) == "__main__" and hasattr(value, "__qualname__"):
                own[name] = value
            else:
                values[name] = value
        if own:
            sources = {**self.sources, **sources_in(source)}
            for name in own:
                if self.is_plain(own[name]):
                    import marshal
                    kept["functions"][name] = marshal.dumps(own[name].__code__)
                    defaults[name] = (own[name].__defaults__, own[name].__kwdefaults__)
                if name in sources:
                    kept["sources"][name] = sources[name]
                elif name not in kept["functions"]:
                    kept["lost"][name] = type(own[name]).__name__
        try:
            kept["together"] = written((values, defaults))
        except Exception:
            # Those that can be kept are, and still share what they share.
            for part in (values, defaults):
                for name, value in list(part.items()):
                    try:
                        written(value)
                    except Exception:
                        kept["lost"][name] = type(self.names[name]).__name__
                        del part[name]
            kept["together"] = written((values, defaults))
        kept["together_names"] = list(values)
        for name, kind in self.lost.items():
            if name not in left:
                kept["lost"].setdefault(name, kind)
        size = len(kept["together"])
        if size > MOST_BYTES:
            kept["lost"].update({name: "value of %d bytes with the others" % size for name in values})
            kept.update({"together": written(({}, {})), "together_names": []})
        os.makedirs(os.path.dirname(self.path) or ".", exist_ok=True)
        with open(self.path + ".part", "wb") as file:
            pickle.dump(kept, file, pickle.HIGHEST_PROTOCOL)
        os.replace(self.path + ".part", self.path)

    def is_plain(self, value):
        # A function whose code and defaults are all of it.
        return type(value) is type(main) and value.__closure__ is None and value.__globals__ is self.names

def written(value):
    import pickle
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)

def sources_in(source):
    import ast
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    found = {}
    lines = source.splitlines(True)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.col_offset == 0:
            first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
            found[node.name] = "".join(lines[first - 1:node.end_lineno])
    return found

def stop(number, frame):
    # A time limit ends the code: what it printed is still in the buffer.
    try:
        sys.stdout.flush()
    except Exception:
        pass
    signal(number, SIG_DFL)
    raise_signal(number)

def main():
    import os
    signal(SIGTERM, stop)
    session = Session(os.path.abspath(sys.argv[1]))
    source = sys.stdin.read()
    # As for `python3 -`, whose code has read stdin to its end.
    sys.argv = ["-"]
    sys.path[0] = ""
    program = sys.modules["__main__"]
    sys.modules["__main__"] = session.module
    session.restore()
    status = session.run(source)
    try:
        session.save(source)
    except Exception as error:
        print("[hull: the variables of this code are not kept: %s]" % error, file=sys.stderr)
    sys.stdout.flush()
    # The other holder of this program's names.
    session.program = program
    sys.exit(status)

main()
