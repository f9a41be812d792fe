/**
 * The spawner: a small Python process that starts others (serving.md §6.2). `posix_spawn` from a process of 10 MB does
 * not copy the runner's page tables, which is what Node's own `fork` spends most of its time on; and whoever may not
 * see the runner gets its uid, its network and its umask from the spawner, once, instead of from a launcher per start.
 *
 * stdin: frames, `u32 length (big endian)`, then fields separated by NUL, the first one a letter:
 *   s key cwd stdin stdout stderr result gate file roomc room... argc argv... NAME=VALUE...    start (`stdin`, `result`,
 *                                              `gate` may be empty; `result` becomes descriptor 3; rooms: see apart.ts)
 *   h key id call stdin stdout stderr result gate                         call a Python handler (python-fork.ts)
 *   k pgid signal                                                         signal a group
 *   w key id...                                                           SIGKILL to all that carry one of these ids
 *   o key path                                                            open a tree for the group: u+rwX,g+rwX
 * stdout: lines `s key pid` started, `f key code` not started, `x key status` ended (status of wait(2)), `d key n` done.
 *
 * A process with a gate waits, once it has said that it started, for one byte from it before it becomes the program:
 * meanwhile the runner puts it into its cgroup.
 * When stdin ends, the runner is gone, and every group that still runs is ended.
 */
import { APART } from "./apart.ts";
import { GATEWAY } from "./gateway.ts";
import { SEAL } from "./seal.ts";

export const SPAWNER_PROGRAM = String.raw`${SEAL}${GATEWAY}${APART}
import errno, fcntl, os, select, signal, stat, struct

MARK = b"HULL_EXECUTION_ID="
out = 1
live = {}
# What the loop waits on, and nobody else needs.
descriptors = []

def say(text):
    os.write(out, text.encode())

def signal_group(pgid, number):
    try:
        os.killpg(pgid, number)
    except OSError:
        pass

def start(fields):
    key, cwd, stdin, stdout, stderr, result, gate, file = fields[:8]
    rooms, argv, env = program_of(fields[8:])
    streams = streams_of(stdin, stdout, stderr, result)
    held = []
    try:
        # Held open at both ends meanwhile: to open a FIFO whose runner has died would take for ever.
        for fd, path, flags in streams:
            held.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        os.chdir(cwd)
        if gate:
            pid = start_behind(gate, key, streams, rooms, file, argv, env)
        else:
            actions = [(os.POSIX_SPAWN_OPEN, fd, path, flags, 0) for fd, path, flags in streams]
            pid = start_at_once(rooms, file, argv, env, actions)
    except OSError as error:
        say("f %s %s\n" % (key.decode(), errno.errorcode.get(error.errno, "EIO")))
        return
    finally:
        for fd in held:
            os.close(fd)
    live[pid] = (key.decode(), env.get(MARK[:-1], b""))
    if not gate:
        say("s %s %d\n" % (key.decode(), pid))

def program_of(fields):
    rooms = 1 + int(fields[0])
    argv = rooms + 1 + int(fields[rooms])
    return fields[1:rooms], fields[rooms + 1:argv], dict(pair.split(b"=", 1) for pair in fields[argv:])

def streams_of(stdin, stdout, stderr, result):
    streams = [(0, stdin or b"/dev/null", os.O_RDONLY), (1, stdout, os.O_WRONLY), (2, stderr, os.O_WRONLY)]
    return streams + [(3, result, os.O_WRONLY)] if result else streams

def start_at_once(rooms, file, argv, env, actions):
    if landlock is None:
        return spawn(file, argv, env, actions)
    # What a process inherits is what the thread has that starts it.
    return in_thread(lambda: (keep_apart(rooms), spawn(file, argv, env, actions))[1])

def spawn(file, argv, env, actions):
    try:
        return os.posix_spawn(file, argv, env, file_actions=actions, setsid=True, setsigdef=[signal.SIGPIPE])
    except OSError as error:
        # A text without "#!" is a shell script, as for execvp(3).
        if error.errno != errno.ENOEXEC:
            raise
        argv = [b"/bin/sh", file] + argv[1:]
        return os.posix_spawn(b"/bin/sh", argv, env, file_actions=actions, setsid=True, setsigdef=[signal.SIGPIPE])

def start_behind(gate, key, streams, rooms, file, argv, env):
    pid = os.fork()
    if pid != 0:
        return pid
    report = high(os.dup(out))
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        waiting = high(os.open(gate, os.O_RDONLY))
        take(streams)
        os.write(report, b"s %s %d\n" % (key, os.getpid()))
        if os.read(waiting, 1) == b"":
            os._exit(127)
        keep_apart(rooms)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        try:
            os.execve(file, argv, env)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            os.execve(b"/bin/sh", [b"/bin/sh", file] + argv[1:], env)
    except OSError as error:
        os.write(report, ("f %s %s\n" % (key.decode(), errno.errorcode.get(error.errno, "EIO"))).encode())
    finally:
        os._exit(127)

def take(streams):
    for fd, path, flags in streams:
        source = high(os.open(path, flags))
        os.dup2(source, fd)
        os.close(source)

def high(fd):
    # Out of the way of the standard streams and descriptor 3.
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64)
    os.close(fd)
    return moved

def reap():
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        known = live.pop(pid, None)
        if known is not None:
            say("x %s %d\n" % (known[0], status))

def sweep(ids):
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
    paths = [root]
    while paths:
        path = paths.pop()
        try:
            mode = os.lstat(path).st_mode
            if stat.S_ISDIR(mode):
                own(path, mode | 0o770)
                paths += [os.path.join(path, name) for name in os.listdir(path)]
            elif stat.S_ISREG(mode):
                own(path, mode | 0o660)
        except OSError:
            pass

def own(path, mode):
    if os.lstat(path).st_uid == os.getuid():
        os.chmod(path, stat.S_IMODE(mode))

def obey(fields):
    kind = fields[0]
    if kind == b"s":
        start(fields[1:])
    elif kind == b"h":
        fork_call(fields[1:])
    elif kind == b"k":
        signal_group(int(fields[1]), int(fields[2]))
    elif kind == b"w":
        say("d %s %d\n" % (fields[1].decode(), sweep(set(fields[2:]))))
    elif kind == b"o":
        open_tree(fields[2])
        say("d %s 0\n" % fields[1].decode())

def hide():
    # Processes of the same uid may neither read this one's memory nor trace it (PR_SET_DUMPABLE).
    try:
        import ctypes
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    except Exception:
        pass

def close_strays():
    # What the runner's own starter left open is nothing for the processes either.
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                pass

def main():
    os.umask(0o022)
    close_strays()
    if SEALED:
        seal()
    if GATEWAY:
        gateway(GATEWAY)
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(reader, select.POLLIN)
    descriptors[:] = [reader, writer]
    if WARM:
        warm_up()
    if STATE:
        apart_from(STATE)
    if PRIVATE:
        hide()
    say("r 0 %d\n" % os.getpid())
    pending = bytearray()
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if reader in ready:
            os.read(reader, 4096)
            reap()
        if 0 in ready:
            chunk = os.read(0, 1 << 18)
            if not chunk:
                break
            pending += chunk
            while len(pending) >= 4:
                end = 4 + struct.unpack_from(">I", pending)[0]
                if len(pending) < end:
                    break
                fields = bytes(pending[4:end]).split(b"\0")
                del pending[:end]
                obey(fields)
    for pid in live:
        signal_group(pid, signal.SIGKILL)
        try:
            # One behind a gate may have no group yet.
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    if live:
        sweep({execution for _, execution in live.values()})
`;
