# Keeps the executions of one runner apart although they share a uid, by Landlock, which needs no privileges (landlock(7)).
# In the runner's state folder a process reaches only the folders that it is given, its rooms. It can neither trace a
# process of another execution nor read its memory, environment and descriptors, nor, since Linux 6.12, signal it. Outside
# of the state folder only file modes count, but the folders above it can neither be listed nor get new entries, since a
# rule for a folder applies to everything in it.
#
# `apart_from(state)` opens what all processes share, and raises if the kernel has no Landlock that still permits moving
# files (5.19). `keep_apart(open_rooms(rooms))` closes the rest, for ever, for the calling thread and everything that it
# starts.

LANDLOCK_WANTED = 2
shared = []
landlock = None

def apart_from(state):
    global landlock
    import ctypes, fcntl, os, stat, struct
    libc = ctypes.CDLL(None, use_errno=True)
    call = libc.syscall
    call.restype = ctypes.c_long
    call.argtypes = [ctypes.c_long] * 5
    version = call(444, 0, 0, 1, 0)
    if version < LANDLOCK_WANTED:
        raise OSError(95, "the kernel has Landlock %d, and %d is needed" % (max(version, 0), LANDLOCK_WANTED))
    # Of files: execute, write, read, truncate, and control of devices; of folders these and more.
    everything = (1 << (16 if version >= 5 else 15 if version >= 3 else 14)) - 1
    of_file = everything & (1 | 2 | 4 | 1 << 14 | 1 << 15)
    # Abstract sockets and signals stay within the execution.
    attributes = struct.pack("QQQ", everything, 0, 3) if version >= 6 else struct.pack("Q", everything)
    attributes = ctypes.create_string_buffer(attributes, len(attributes))

    def rule(path, rights):
        found = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        # Keeps clear of the descriptors that a process is given.
        parent = fcntl.fcntl(found, fcntl.F_DUPFD_CLOEXEC, 64)
        os.close(found)
        mode = os.fstat(parent).st_mode
        if stat.S_ISLNK(mode):
            os.close(parent)
            return None
        rights &= everything if stat.S_ISDIR(mode) else of_file
        return parent, ctypes.create_string_buffer(struct.pack("=Qi", rights, parent), 12)

    def gather(rooms):
        ruleset = call(444, ctypes.addressof(attributes), len(attributes), 0, 0)
        if ruleset < 0:
            raise OSError(ctypes.get_errno(), "no Landlock ruleset")
        own = [found for found in [rule(room, everything) for room in rooms] if found]
        for _, text in shared + own:
            if call(445, ruleset, 1, ctypes.addressof(text), 0) != 0:
                raise OSError(ctypes.get_errno(), "no Landlock rule")
        for parent, _ in own:
            os.close(parent)
        return ruleset

    def close(ruleset):
        # PR_SET_NO_NEW_PRIVS, without which the kernel takes no ruleset.
        if libc.prctl(38, 1, 0, 0, 0) != 0 or call(446, ruleset, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "Landlock is refused")
        os.close(ruleset)

    folder = "/"
    for name in state.strip("/").split("/"):
        try:
            beside = [other for other in os.listdir(folder) if other != name]
        except OSError:
            beside = []
        for other in beside:
            try:
                found = rule(os.path.join(folder, other), everything)
            except OSError:
                continue
            if found:
                shared.append(found)
        folder = os.path.join(folder, name)
    landlock = gather, close

def open_rooms(rooms):
    # From here on changes of their names do not matter.
    return landlock and landlock[0](rooms)

def keep_apart(ruleset):
    if landlock is not None:
        landlock[1](ruleset)

def in_thread(work):
    # The restriction of a thread does not affect the thread that started it.
    import _thread
    done, outcome = _thread.allocate_lock(), []
    def body():
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            done.release()
    done.acquire()
    _thread.start_new_thread(body, ())
    done.acquire()
    value, error = outcome[0]
    if error is not None:
        raise error
    return value
