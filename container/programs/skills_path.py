# Mounts the folder of an execution's skills at /skills, in the process's own mount namespace (mount_namespaces(7), see
# namespaces.py). Executions that run at the same time each see their own skills there.
#
# It defines `show_skills(folder)`, which raises OSError if the kernel refuses. If the system has no folder /skills, the
# process gets a new root with the same entries and this one.

SKILLS_PATH = "/skills"

def show_skills(folder):
    import ctypes, os
    libc = ctypes.CDLL(None, use_errno=True)
    bind, recursive, slave, remount, read_only, detach = 4096, 16384, 1 << 19, 32, 1, 2

    def check(result, what):
        if result != 0:
            raise OSError(ctypes.get_errno(), what)

    def mount(source, target, kind, flags):
        texts = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
        check(libc.mount(*texts, ctypes.c_ulong(flags), None), "mount")

    def close_off(path):
        # The kernel only accepts a remount that repeats the restrictions of the original mount.
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

    mount(None, "/", None, recursive | slave)
    if os.path.isdir(SKILLS_PATH) and not os.path.islink(SKILLS_PATH):
        mount(folder, SKILLS_PATH, None, bind | recursive)
    else:
        own_root()
    close_off(SKILLS_PATH)
