# Takes the network from a process and from everything that it starts, by a seccomp filter that needs no privileges
# (seccomp(2)). Sockets can be made only within the machine (AF_UNIX) and for questions to the kernel (AF_NETLINK); others
# fail with "network is unreachable". io_uring, which makes sockets without that call, fails as on a system without it, and
# so does every call with another architecture's numbers. Inherited descriptors are closed by then, except pipes.
#
# It defines `seal()`, which raises if there can be no filter.

def seal():
    import ctypes, errno, os, struct
    machine = os.uname().machine
    arch, socket, foreign = {
        "x86_64": (0xC000003E, 41, 0x40000000),
        "aarch64": (0xC00000B7, 198, 0x7FFFFFFF),
    }[machine]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000
    unix, netlink, io_uring_setup = 1, 16, 425
    # Of struct seccomp_data: the call's number at 0, the architecture at 4, the first argument at 16.
    program = [
        (load, 0, 0, 4),
        (equal, 0, 8, arch),
        (load, 0, 0, 0),
        (at_least, 6, 0, foreign),
        (equal, 5, 0, io_uring_setup),
        (equal, 0, 5, socket),
        (load, 0, 0, 16),
        (equal, 3, 0, unix),
        (equal, 2, 0, netlink),
        (give, 0, 0, refuse | errno.ENETUNREACH),
        (give, 0, 0, refuse | errno.ENOSYS),
        (give, 0, 0, allow),
    ]
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    held = ctypes.create_string_buffer(code, len(code))
    class Filter(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
    libc = ctypes.CDLL(None, use_errno=True)
    given = Filter(len(program), ctypes.addressof(held))
    # PR_SET_NO_NEW_PRIVS, without which the kernel takes no filter; PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(given), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no seccomp filter")
