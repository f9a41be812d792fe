# Gives a process with one thread namespaces of its own (namespaces(7)). A process without privileges gets them in a user
# namespace in which its uid stays the same.
#
# `enter_namespaces(flags)` and `drop_capabilities()`, which takes back what the user namespace gave, for ever; both raise
# OSError if the kernel refuses.

NEW_MOUNTS, NEW_NETWORK, NEW_USER = 0x20000, 0x40000000, 0x10000000

def enter_namespaces(flags):
    import ctypes, os
    libc = ctypes.CDLL(None, use_errno=True)

    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    uid, gid = os.getuid(), os.getgid()
    # In a process that is not dumpable, the files with the mapping belong to root.
    hidden = uid != 0 and libc.prctl(3, 0, 0, 0, 0) == 0
    if hidden:
        libc.prctl(4, 1, 0, 0, 0)
    if libc.unshare(flags if uid == 0 else flags | NEW_USER) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if uid != 0:
        write("/proc/self/uid_map", "%d %d 1" % (uid, uid))
        write("/proc/self/setgroups", "deny")
        write("/proc/self/gid_map", "%d %d 1" % (gid, gid))
    if hidden:
        libc.prctl(4, 0, 0, 0, 0)

def drop_capabilities():
    import ctypes, os
    if os.getuid() == 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    # PR_CAPBSET_DROP: executing a file cannot give privileges, as outside the namespace.
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)
