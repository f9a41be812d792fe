# Shows an execution the folder of its skills at /skills, in a mount namespace of its own (mount_namespaces(7)): executions
# with other skills that run at the same time see their own there. If the calling process has no privileges, a user
# namespace in which its uid stays the same gives it the necessary ones, which end with exec.
#
# It defines `show_skills(folder)`, for a process with one thread that has not yet become its program; it raises if the
# kernel refuses. Without a /skills to mount the folder on, it makes a new root with everything else as before.

SKILLS_PATH = "/skills"

def show_skills(folder):
    import ctypes, os
    libc = ctypes.CDLL(None, use_errno=True)
    bind, recursive, slave, remount, read_only, detach = 4096, 16384, 1 << 19, 32, 1, 2
    new_namespace, new_user = 0x20000, 0x10000000

    def check(result, what):
        if result != 0:
            raise OSError(ctypes.get_errno(), what)

    def mount(source, target, kind, flags):
        texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
        check(libc.mount(*texts, ctypes.c_ulong(flags), None), "mount")

    def write(path, text):
        with open(path, "w") as file:
            file.write(text)

    def close_off(path):
        # What a mount may not do in its origin, it may not do here: the kernel wants that said again.
        kept = os.statvfs(path).f_flag
        flags = sum(to for of, to in ((2, 2), (4, 4), (8, 8), (1024, 1024), (2048, 2048), (4096, 1 << 21)) if kept & of)
        mount(None, path, None, remount | bind | read_only | flags)

    def own_root():
        mount("none", "/tmp", "tmpfs", 0)
        os.mkdir("/tmp/.before", 0o755)
        check(libc.syscall(155 if os.uname().machine == "x86_64" else 41, b"/tmp", b"/tmp/.before"), "pivot_root")
        os.chdir("/")
        os.chmod("/", 0o755)
        for entry in os.scandir("/.before"):
            target = "/" + entry.name
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), target)
                continue
            if entry.is_dir():
                os.mkdir(target, 0o755)
            else:
                os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
            mount(entry.path, target, None, bind | recursive)
        os.mkdir(SKILLS_PATH, 0o755)
        mount("/.before" + folder, SKILLS_PATH, None, bind | recursive)
        check(libc.umount2(b"/.before", detach), "umount")
        os.rmdir("/.before")
        close_off("/")

    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        check(libc.unshare(new_namespace), "unshare")
    else:
        # The kernel gives the files that say the mapping to root unless the process may be looked at.
        hidden = libc.prctl(3, 0, 0, 0, 0) == 0
        libc.prctl(4, 1, 0, 0, 0)
        check(libc.unshare(new_namespace | new_user), "unshare")
        write("/proc/self/uid_map", "%d %d 1" % (uid, uid))
        write("/proc/self/setgroups", "deny")
        write("/proc/self/gid_map", "%d %d 1" % (gid, gid))
        if hidden:
            libc.prctl(4, 0, 0, 0, 0)
    mount(None, "/", None, recursive | slave)
    if os.path.isdir(SKILLS_PATH) and not os.path.islink(SKILLS_PATH):
        mount(folder, SKILLS_PATH, None, bind | recursive)
    else:
        own_root()
    close_off(SKILLS_PATH)
    if uid != 0:
        # PR_CAPBSET_DROP: as outside, no file gives privileges.
        for capability in range(64):
            libc.prctl(24, capability, 0, 0, 0)
