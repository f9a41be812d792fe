# Makes a spawner (spawner.py) a fork server for Python handlers: a warm interpreter, like its keepers. Each call is a fork
# of it, so no call has to start an interpreter. Otherwise the call is a normal process: with a session and group, uid and
# network, cgroup, streams, folder and environment of its own.
#
# The server never learns the input of a call, so no fork finds anything of earlier calls in its memory. The server gets
# only paths, and the fork itself reads the file `call`: cwd, pathc, path..., argc, argv..., NAME=VALUE..., separated by NUL.
#
# A fork keeps the environment block with which the server was started, and `/proc/<pid>/environ` shows it. The fork writes
# the execution's id there, for code that searches for its processes.

import gc, io, signal, time

area = None

def warm_up():
    global area
    import ctypes
    with open("/proc/self/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    start, end = int(fields[47]), int(fields[48])
    if ctypes.string_at(start, end - start).find(MARK) < 0:
        os._exit(1)
    area = (ctypes, start, end - start)
    import asyncio, base64, collections, csv, dataclasses, datetime, decimal, hashlib, html, itertools, math
    import pathlib, random, re, shutil, statistics, string, subprocess, tempfile, textwrap, threading, traceback
    import typing, urllib.parse, urllib.request, uuid
    gc.collect()
    gc.freeze()

def fork_call(fields):
    key, execution, call, stdin, stdout, stderr, result, gate = fields
    try:
        pid = os.fork()
    except OSError as error:
        fail(key, error)
        return None
    if pid != 0:
        return pid
    report = high(os.dup(out))
    status = 127
    try:
        try:
            argv = become(call, execution, streams_of(stdin, stdout, stderr, result), gate, key, report)
        except OSError as error:
            os.write(report, ("f %s %s\n" % (key.decode(), errno.errorcode.get(error.errno, "EIO"))).encode())
            os._exit(127)
        status = run(argv[2], argv[3:])
        leave()
    except BaseException:
        traceback = sys.modules["traceback"]
        traceback.print_exc()
    finally:
        os._exit(status)

def become(call, execution, streams, gate, key, report):
    signal.set_wakeup_fd(-1)
    for fd in own:
        os.close(fd)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    waiting = high(os.open(gate, os.O_RDONLY)) if gate else None
    with open(call, "rb") as file:
        cwd, *rest = file.read().split(b"\0")
    allowed_paths, argv, env = program_of(rest)
    argv = [os.fsdecode(argument) for argument in argv]
    os.chdir(cwd)
    redirect(streams)
    os.environb.clear()
    os.environb.update(env)
    time.tzset()
    mark(execution)
    open_streams()
    ruleset = create_ruleset(allowed_paths)
    # After this the runner removes the pipes.
    os.write(report, b"s %s %d\n" % (key, os.getpid()))
    if waiting is not None:
        if os.read(waiting, 1) == b"":
            os._exit(127)
        os.close(waiting)
    restrict_self(ruleset)
    for fd, _ in shared_rules:
        os.close(fd)
    os.close(report)
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.path[:] = [path for path in sys.path if path != ""]
    sys.path[:0] = [path for path in os.environ.get("PYTHONPATH", "").split(":") if path]
    return argv

def mark(execution):
    ctypes, start, size = area
    if PRIVATE:
        # The server hides its memory from processes of its uid; a fork must be visible to those who end it.
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    ctypes.memmove(start, (MARK + execution).ljust(size, b"\0")[:size], size)

def open_streams():
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(open(0, "rb", closefd=False), encoding="utf-8", errors="strict")
    # Errors appear immediately.
    sys.stdout = sys.__stdout__ = io.TextIOWrapper(open(1, "wb", closefd=False), encoding="utf-8")
    raw = open(2, "wb", closefd=False)
    sys.stderr = sys.__stderr__ = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)

def leave():
    # As at the end of an interpreter, but without tearing it down.
    sys.modules["threading"]._shutdown()
    import atexit
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
