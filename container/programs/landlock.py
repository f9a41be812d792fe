# Isolates the executions of one runner from each other although they share a uid, by Landlock, which needs no privileges
# (landlock(7)). In the runner's state folder a process reaches only the paths that it is given. It can neither trace a
# process of another execution nor read its memory, environment and descriptors, nor, since Linux 6.12, signal it. Outside
# of the state folder only file modes count, but the folders above it can neither be listed nor get new entries, since a
# rule for a folder applies to everything in it.
#
# `prepare_landlock(state)` opens what all processes share, and raises if the kernel has no Landlock that still permits
# moving files (5.19). `restrict_self(create_ruleset(allowed_paths))` closes the rest, for ever, for the calling thread and
# everything that it starts.

LANDLOCK_MIN_ABI = 2
shared_rules = []
landlock = None

def prepare_landlock(state):
    global landlock
    import ctypes, fcntl, os, stat, struct
    libc = ctypes.CDLL(None, use_errno=True)
    syscall = libc.syscall
    syscall.restype = ctypes.c_long
    syscall.argtypes = [ctypes.c_long] * 5
    abi = syscall(444, 0, 0, 1, 0)
    if abi < LANDLOCK_MIN_ABI:
        raise OSError(95, "the kernel has Landlock %d, and %d is needed" % (max(abi, 0), LANDLOCK_MIN_ABI))
    # Of files: execute, write, read, truncate, and control of devices; of folders these and more.
    all_rights = (1 << (16 if abi >= 5 else 15 if abi >= 3 else 14)) - 1
    file_rights = all_rights & (1 | 2 | 4 | 1 << 14 | 1 << 15)
    # Abstract sockets and signals stay within the execution.
    attributes = struct.pack("QQQ", all_rights, 0, 3) if abi >= 6 else struct.pack("Q", all_rights)
    attributes = ctypes.create_string_buffer(attributes, len(attributes))

    def path_rule(path):
        opened = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        # Keeps clear of the descriptors that a process is given.
        fd = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, 64)
        os.close(opened)
        # A rule for a link says nothing of where it leads.
        rights = all_rights if stat.S_ISDIR(os.fstat(fd).st_mode) else file_rights
        return fd, ctypes.create_string_buffer(struct.pack("=Qi", rights, fd), 12)

    def create(allowed_paths):
        ruleset = syscall(444, ctypes.addressof(attributes), len(attributes), 0, 0)
        if ruleset < 0:
            raise OSError(ctypes.get_errno(), "no Landlock ruleset")
        own_rules = [path_rule(path) for path in allowed_paths]
        for _, attribute in shared_rules + own_rules:
            if syscall(445, ruleset, 1, ctypes.addressof(attribute), 0) != 0:
                raise OSError(ctypes.get_errno(), "no Landlock rule")
        for fd, _ in own_rules:
            os.close(fd)
        return ruleset

    def restrict(ruleset):
        # PR_SET_NO_NEW_PRIVS, without which the kernel takes no ruleset.
        if libc.prctl(38, 1, 0, 0, 0) != 0 or syscall(446, ruleset, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "Landlock is refused")
        os.close(ruleset)

    folder = "/"
    for name in state.strip("/").split("/"):
        try:
            siblings = [other for other in os.listdir(folder) if other != name]
        except OSError:
            siblings = []
        for sibling in siblings:
            try:
                shared_rules.append(path_rule(os.path.join(folder, sibling)))
            except OSError:
                pass
        folder = os.path.join(folder, name)
    landlock = create, restrict

def create_ruleset(allowed_paths):
    # From here on changes of their names do not matter.
    return landlock and landlock[0](allowed_paths)

def restrict_self(ruleset):
    if landlock is not None:
        landlock[1](ruleset)

def in_thread(work):
    # The restriction of a thread does not affect the thread that started it.
    import _thread, errno
    done, outcome = _thread.allocate_lock(), []
    def body():
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            done.release()
    done.acquire()
    try:
        _thread.start_new_thread(body, ())
    except RuntimeError:
        raise OSError(errno.EAGAIN, "no thread")
    done.acquire()
    value, error = outcome[0]
    if error is not None:
        raise error
    return value
