# Takes the network from a process and from everything that it starts, by a seccomp filter that needs no privileges
# (seccomp(2)). Sockets can be made only within the machine (AF_UNIX) and for questions to the kernel (AF_NETLINK); others
# fail with "network is unreachable". io_uring, which makes sockets without that call, fails as on a system without it, and
# so does every call with another architecture's numbers. Inherited descriptors are closed by then, except pipes.
#
# `seal()` raises if there can be no filter. `seal(within_own=True)` is for a process in a network of its own: it keeps the
# sockets of that network, and cannot leave it for another one.

def seal(within_own=False):
    import ctypes, errno, os, struct
    machine = os.uname().machine
    arch, socket, setns, foreign = {
        "x86_64": (0xC000003E, 41, 308, 0x40000000),
        "aarch64": (0xC00000B7, 198, 268, 0x7FFFFFFF),
    }[machine]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000
    io_uring_setup = 425
    # AF_UNIX, AF_NETLINK; AF_INET, AF_INET6.
    families = (1, 16, 2, 10) if within_own else (1, 16)
    answers = {
        "unreachable": refuse | errno.ENETUNREACH,
        "missing": refuse | errno.ENOSYS,
        "forbidden": refuse | errno.EPERM,
        "allowed": allow,
    }
    # Of struct seccomp_data: the call's number at 0, the architecture at 4, the first argument at 16. A line is an
    # instruction, its value, and where it goes on if its test holds and if it does not; None: at the next line.
    lines = [
        (load, 4, None, None),
        (equal, arch, None, "missing"),
        (load, 0, None, None),
        (at_least, foreign, "missing", None),
        (equal, io_uring_setup, "missing", None),
        (equal, setns, "forbidden" if within_own else "allowed", None),
        (equal, socket, None, "allowed"),
        (load, 16, None, None),
        *((equal, family, "allowed", None) for family in families),
    ]
    places = {name: len(lines) + at for at, name in enumerate(answers)}
    code = b"".join(
        struct.pack("HBBI", kind, *(0 if to is None else places[to] - at - 1 for to in ways), value)
        for at, (kind, value, *ways) in enumerate(lines)
    )
    code += b"".join(struct.pack("HBBI", give, 0, 0, value) for value in answers.values())
    held = ctypes.create_string_buffer(code, len(code))
    class Filter(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
    libc = ctypes.CDLL(None, use_errno=True)
    given = Filter(len(code) // 8, ctypes.addressof(held))
    # PR_SET_NO_NEW_PRIVS, without which the kernel takes no filter; PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(given), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no seccomp filter")
