# Cleans up after executions: kills other processes that carry the id of one, and opens files that the runner cannot read or
# remove.

import os, signal, stat

MARK = b"HULL_EXECUTION_ID="
# The most levels of folders open at a time.
MAX_OPEN_LEVELS = 200

def kill_processes_of(ids):
    killed = 0
    for _ in range(10):
        found = [pid for pid in os.listdir("/proc") if pid.isdigit() and execution_of(pid) in ids]
        for pid in found:
            try:
                os.kill(int(pid), signal.SIGKILL)
                killed += 1
            except OSError:
                pass
        if not found:
            break
    return killed

def execution_of(pid):
    try:
        with open("/proc/%s/environ" % pid, "rb") as environ:
            for pair in environ.read().split(b"\0"):
                if pair.startswith(MARK):
                    return pair[len(MARK):]
    except OSError:
        pass
    return None

def open_tree(root):
    try:
        fd = os.open(root, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    open_subtree(fd, MAX_OPEN_LEVELS)

def open_subtree(fd, levels):
    # Goes from open folder to open folder, so it follows no link. To open deeper ones, the caller moves them up.
    try:
        path = "/proc/self/fd/%d" % fd
        known = os.fstat(fd)
        folder = stat.S_ISDIR(known.st_mode)
        if known.st_uid == os.getuid() and (folder or stat.S_ISREG(known.st_mode)):
            os.chmod(path, stat.S_IMODE(known.st_mode) | (0o770 if folder else 0o660))
        if folder and levels > 0:
            for name in os.listdir(path):
                try:
                    inner = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
                except OSError:
                    continue
                open_subtree(inner, levels - 1)
    except OSError:
        pass
    finally:
        os.close(fd)
