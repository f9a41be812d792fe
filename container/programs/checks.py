# With namespaces.py, landlock.py, seccomp.py and skills_path.py before it: checks what this system can do for the processes
# of executions. Each check runs in a fork, since a process cannot undo it. The argument is the state folder. For each check
# it writes `name=`, why the check failed, or nothing if it did not, and a NUL.

import os, sys

# What the forks need is loaded once, before them. Neither `json` nor `socket` is: each takes as long to load as all of these.
for module in ("_socket", "ctypes", "fcntl", "stat", "struct"):
    __import__(module)

def check_python():
    # The processes' uid starts it and reads its library, not only the user that changes to that uid.
    os.POSIX_SPAWN_OPEN
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", "import decimal"])

def check_landlock(abi):
    global LANDLOCK_MIN_ABI
    LANDLOCK_MIN_ABI = abi
    prepare_landlock(sys.argv[1])
    in_thread(lambda: restrict_self(create_ruleset([])))
    restrict_self(create_ruleset([]))
    os.listdir("/proc")

def check_skills_path():
    enter_namespaces(NEW_MOUNTS)
    show_skills("/usr")
    os.listdir(SKILLS_PATH)

def check_seccomp():
    import _socket
    install_seccomp_filter()
    _socket.socketpair()
    try:
        _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    except OSError:
        return
    raise OSError("a socket could be made in spite of the filter")

def failure_of(check):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(writer, 2)
            check()
            os._exit(0)
        except BaseException as error:
            os.write(2, str(error).encode())
        finally:
            os._exit(1)
    os.close(writer)
    with open(reader, "rb") as said:
        text = said.read().decode(errors="replace").strip()
    _, status = os.waitpid(pid, 0)
    return None if status == 0 else text or "status %d" % status

# Landlock keeps signals within an execution from this version on, which does all that the earlier one does.
signals = failure_of(lambda: check_landlock(6))
results = {
    "python": failure_of(check_python),
    "files": signals and failure_of(lambda: check_landlock(2)),
    "signals": signals,
    "skills_path": failure_of(check_skills_path),
    "seccomp": failure_of(check_seccomp),
}
os.write(1, "".join("%s=%s\0" % (name, failure or "") for name, failure in results.items()).encode())
