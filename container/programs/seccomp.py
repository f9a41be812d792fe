# Takes the network from a process and from everything that it starts, by a seccomp filter that needs no privileges
# (seccomp(2)). Sockets can be made only within the machine (AF_UNIX) and for questions to the kernel (AF_NETLINK); others
# fail with "network is unreachable". io_uring, which makes sockets without that call, fails as on a system without it, and
# so does every call with another architecture's numbers. The process has closed inherited descriptors by then, except
# pipes.
#
# `install_seccomp_filter()` raises if there can be no filter. With `families=()` no sockets can be made at all.
# `install_seccomp_filter(own_network=True)` is for a process in a network namespace of its own: it keeps the sockets of that
# network, and cannot leave it for another one.

def install_seccomp_filter(own_network=False, families=(1, 16)):
    import ctypes, errno, os, struct
    machine = os.uname().machine
    arch, socket, setns, foreign = {
        "x86_64": (0xC000003E, 41, 308, 0x40000000),
        "aarch64": (0xC00000B7, 198, 268, 0x7FFFFFFF),
    }[machine]
    ld, jeq, jge, ret = 0x20, 0x15, 0x35, 0x06
    ret_allow, ret_errno = 0x7FFF0000, 0x00050000
    io_uring_setup = 425
    # AF_UNIX, AF_NETLINK; AF_INET, AF_INET6.
    families += (2, 10) if own_network else ()
    answers = {
        "unreachable": ret_errno | errno.ENETUNREACH,
        "missing": ret_errno | errno.ENOSYS,
        "forbidden": ret_errno | errno.EPERM,
        "allowed": ret_allow,
    }
    # Of struct seccomp_data: the call's number at 0, the architecture at 4, the first argument at 16. An entry is an
    # opcode, its operand, and where it jumps if its test holds and if it does not; None: to the next one.
    instructions = [
        (ld, 4, None, None),
        (jeq, arch, None, "missing"),
        (ld, 0, None, None),
        (jge, foreign, "missing", None),
        (jeq, io_uring_setup, "missing", None),
        (jeq, setns, "forbidden" if own_network else "allowed", None),
        (jeq, socket, None, "allowed"),
        (ld, 16, None, None),
        *((jeq, family, "allowed", None) for family in families),
    ]
    targets = {name: len(instructions) + at for at, name in enumerate(answers)}
    code = b"".join(
        struct.pack("HBBI", opcode, *(0 if to is None else targets[to] - at - 1 for to in jumps), value)
        for at, (opcode, value, *jumps) in enumerate(instructions)
    )
    code += b"".join(struct.pack("HBBI", ret, 0, 0, value) for value in answers.values())
    buffer = ctypes.create_string_buffer(code, len(code))
    class SockFprog(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
    libc = ctypes.CDLL(None, use_errno=True)
    fprog = SockFprog(len(code) // 8, ctypes.addressof(buffer))
    # PR_SET_NO_NEW_PRIVS, without which the kernel takes no filter; PR_SET_SECCOMP with SECCOMP_MODE_FILTER.
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(fprog), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no seccomp filter")
