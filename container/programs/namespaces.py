# Gives a process with one thread namespaces of its own (namespaces(7)). A process without privileges gets them in a user
# namespace in which its uid stays the same.
#
# `enter_namespaces(flags)`, and `drop_capabilities()`, which takes what the user namespace gave from the programs that the
# calling thread becomes or starts; both raise OSError if the kernel refuses.

NEW_MOUNTS, NEW_NETWORK, NEW_USER = 0x20000, 0x40000000, 0x10000000

def enter_namespaces(flags):
    import ctypes, os
    prctl = ctypes.CDLL(None).prctl

    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        return unshare(flags)
    # In a process that is not dumpable, the files with the mapping belong to root.
    hidden = prctl(3, 0, 0, 0, 0) == 0
    if hidden:
        prctl(4, 1, 0, 0, 0)
    try:
        unshare(flags | NEW_USER)
        write("/proc/self/uid_map", "%d %d 1" % (uid, uid))
        write("/proc/self/setgroups", "deny")
        write("/proc/self/gid_map", "%d %d 1" % (gid, gid))
    finally:
        if hidden:
            prctl(4, 0, 0, 0, 0)

def unshare(flags):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare")

def drop_capabilities():
    import ctypes, os
    if os.getuid() == 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    # PR_CAPBSET_DROP: executing a file cannot give privileges, as outside the namespace.
    for capability in range(64):
        libc.prctl(24, capability, 0, 0, 0)
