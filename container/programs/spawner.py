# The spawner: a small Python process that starts others. `posix_spawn` from a process of 10 MB does not copy the runner's
# page tables, on which Node's own `fork` spends most of its time. Processes that may not see the runner get their uid,
# network and umask from the spawner, which sets them once; otherwise every start would need a launcher.
#
# The spawner starts only keepers, which are forks of it, and gives each execution to one of them. A keeper has one
# execution at a time, and is a child subreaper (prctl(2)): whatever an execution's processes do, with double forks, new
# sessions and empty environments, they stay below their keeper. So at the end of an execution the keeper kills everything
# below it until it has no child left. Then nothing of the execution remains, and the keeper is free for another one. The
# spawner is a subreaper too: it inherits the processes of a killed keeper, and ends them.
#
# stdin: frames, `u32 length (big endian)`, then fields separated by NUL, the first one a letter:
#   s key cwd stdin stdout stderr result gate skills file pathc path... argc argv... NAME=VALUE...    start (`stdin`, `result`,
#                          `gate`, `skills` may be empty; `result` becomes descriptor 3; paths: landlock.py, skills: skills_path.py)
#   h key id call stdin stdout stderr result gate                         call a Python handler (fork.py)
#   k key signal                                                          signal the group, while its leader runs
#   e key                                                                 end all that comes from it
#   w key id...                                                           SIGKILL to all that carry one of these ids
#   o key path                                                            open a tree for the group: u+rwX,g+rwX
# stdout: lines `s key pid` started, `f key code` not started, `x key status` ended (status of wait(2)), `l key` its keeper is
# lost, `g key` nothing of it is left, `z key status` ended and nothing of it is left, `d key n` done.
#
# A process with a gate reports that it started, and then waits for one byte from the gate before it becomes the program:
# meanwhile the runner puts it into its cgroup.
# When stdin ends, the runner is gone, and every running process is ended.

import fcntl, os, select, signal, struct, time

# The most idle keepers to keep.
MAX_IDLE = 16
# A keeper that takes longer to end its execution counts as stuck.
STUCK_S = 10
# After this many passes, what an execution leaves is not simply dying.
MANY_PASSES = 50
out = 1
# Descriptors of this process that no fork may inherit.
own = []

def say(text):
    try:
        os.write(out, text.encode())
    except OSError:
        # The runner is gone.
        pass

def high(fd):
    # Not one of the standard streams or descriptor 3.
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64)
    os.close(fd)
    return moved

def prctl(option, value):
    import ctypes
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl %d is refused" % option)

def note_child(*_):
    # The system writes to this descriptor to wake the loop.
    pass

def catch_children():
    reader, writer = os.pipe()
    reader, writer = high(reader), high(writer)
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, note_child)
    own.extend([reader, writer])
    return reader

def drain(fd):
    try:
        os.read(fd, 4096)
    except BlockingIOError:
        pass

class Frames:
    def __init__(self, fd):
        self.fd = fd
        self.pending = bytearray()

    def read(self):
        # Complete frames; None at the end.
        chunk = os.read(self.fd, 1 << 18)
        if not chunk:
            return None
        self.pending += chunk
        frames = []
        while len(self.pending) >= 4:
            end = 4 + struct.unpack_from(">I", self.pending)[0]
            if len(self.pending) < end:
                break
            frames.append(bytes(self.pending[4:end]))
            del self.pending[:end]
        return frames

def send(fd, frame):
    data = memoryview(struct.pack(">I", len(frame)) + frame)
    while data:
        data = data[os.write(fd, data):]

# The keeper: one execution at a time.

class Keeper:
    def __init__(self, tasks, notes):
        self.notes = notes
        self.key = None
        self.leader = None
        self.ending = False
        self.wakeups = catch_children()
        self.frames = Frames(tasks)
        self.poll = select.poll()
        self.poll.register(tasks, select.POLLIN)
        self.poll.register(self.wakeups, select.POLLIN)
        if NETWORK_NAMESPACE:
            renew_network()

    def serve(self):
        going = True
        while going:
            # Processes that survive SIGKILL, because the system holds them or they belong to another user, are checked
            # less often.
            ready = {fd for fd, _ in self.poll.poll(50 if self.ending else None)}
            if self.wakeups in ready:
                drain(self.wakeups)
            if self.frames.fd in ready:
                frames = self.frames.read()
                if frames is None:
                    # Nobody may take its end for the end of a child.
                    going = False
                    self.leader = None
                for frame in frames or []:
                    self.obey(frame.split(b"\0"))
            self.reap()
            if self.ending or not going:
                self.end(going)
        os._exit(0)

    def obey(self, fields):
        kind, key = fields[0], fields[1]
        if kind in b"sh":
            self.key = key
            self.leader = (start if kind == b"s" else fork_call)(fields[1:])
            if self.leader is None:
                self.free()
        elif kind == b"o":
            open_tree(fields[2])
            say("d %s 0\n" % key.decode())
            self.free()
        elif key != self.key:
            # It ended meanwhile.
            if kind == b"e":
                say("g %s\n" % key.decode())
        elif kind == b"k" and self.leader is not None:
            # Not reaped yet, so no other group can have the number.
            try:
                os.killpg(self.leader, int(fields[2]))
            except OSError:
                pass
        elif kind == b"e":
            self.ending = True
            self.end(True)

    def reap(self):
        # Whether there are still children.
        ended = None
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                pid = None
            if not pid:
                break
            if pid == self.leader:
                self.leader = None
                ended = status
        if ended is not None:
            # Most processes leave nothing behind. Nobody has to ask this keeper to end the execution then.
            alone = pid is None and not self.ending
            say("%s %s %d\n" % ("z" if alone else "x", self.key.decode(), ended))
            if alone:
                self.free()
        return pid is not None

    def end(self, patient):
        until = time.monotonic() + 1
        passes = 0
        while self.reap():
            kill_descendants(passes)
            passes += 1
            if passes == MANY_PASSES:
                # Children end faster than this process can reap them, so the system reaps them.
                signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            if time.monotonic() > until:
                if patient:
                    return
                os._exit(1)
            time.sleep(0)
        signal.signal(signal.SIGCHLD, note_child)
        if self.leader is not None:
            # Killed, and reaped by the system.
            self.leader = None
            say("x %s %d\n" % (self.key.decode(), signal.SIGKILL))
        self.ending = False
        if self.key is not None and patient:
            say("g %s\n" % self.key.decode())
            self.free()

    def free(self):
        if NETWORK_NAMESPACE and self.key is not None:
            renew_network()
        self.key = None
        os.write(self.notes, struct.pack("=i", os.getpid()))

# The spawner.

class Spawner:
    def __init__(self):
        self.notes, self.note = (high(fd) for fd in os.pipe())
        # By pid: the descriptor of its tasks, and the key of its execution.
        self.tasks = {}
        self.keys = {}
        self.idle = []
        self.keepers = {}
        # When each keeper counts as stuck.
        self.stuck = {}
        # Passes in search of processes without a keeper; 0: there are none.
        self.hunting = 0
        self.spared = set()
        self.wakeups = catch_children()
        self.frames = Frames(0)
        own.extend([self.notes])

    def serve(self):
        poll = select.poll()
        for fd in (0, self.notes, self.wakeups):
            poll.register(fd, select.POLLIN)
        self.hire()
        say("r 0 %d\n" % os.getpid())
        going = True
        while going:
            ready = {fd for fd, _ in poll.poll(self.patience())}
            if self.wakeups in ready:
                drain(self.wakeups)
                self.reap()
            # Free keepers are handled before busy ones.
            if self.notes in ready:
                self.hear(os.read(self.notes, 4096))
            if 0 in ready:
                frames = self.frames.read()
                going = frames is not None
                for frame in frames or []:
                    self.obey(frame)
                if not self.idle:
                    self.hire()
            if self.stuck:
                self.look_after_stuck()
            if self.hunting:
                found = kill_descendants(self.hunting - 1, self.spared.union(self.tasks))
                self.hunting = self.hunting + 1 if found else 0
        self.close()

    def patience(self):
        if self.hunting:
            return 0 if self.hunting < 1000 else 20
        return 250 if self.stuck else None

    def close(self):
        # The keepers end their executions and themselves.
        leaving = set(self.tasks)
        for pid in leaving:
            self.dismiss(pid)
        until = time.monotonic() + 2
        while leaving & self.spared and time.monotonic() < until:
            time.sleep(0.001)
            self.reap()
        while kill_descendants(0, self.spared) and time.monotonic() < until:
            self.reap()

    def dismiss(self, pid):
        os.close(self.tasks.pop(pid))
        self.spared.add(pid)

    def hire(self):
        reader, writer = os.pipe()
        reader, writer = high(reader), high(writer)
        try:
            pid = os.fork()
        except OSError:
            os.close(reader)
            os.close(writer)
            return
        if pid == 0:
            try:
                signal.set_wakeup_fd(-1)
                for fd in [*own, *self.tasks.values(), writer]:
                    os.close(fd)
                nothing = os.open("/dev/null", os.O_RDWR)
                os.dup2(nothing, 0)
                os.close(nothing)
                own[:] = [reader, self.note]
                self.tasks.clear()
                become_subreaper()
                Keeper(reader, self.note).serve()
            finally:
                os._exit(1)
        os.close(reader)
        self.tasks[pid] = writer
        self.idle.append(pid)

    def obey(self, frame):
        kind, key = frame.split(b"\0", 2)[:2]
        if kind == b"w":
            say("d %s %d\n" % (key.decode(), kill_processes_of(set(frame.split(b"\0")[2:]))))
        elif kind in b"sho":
            if not self.idle:
                self.hire()
            if not self.idle:
                say("f %s EAGAIN\n" % key.decode())
                return
            pid = self.idle.pop()
            self.keepers[key] = pid
            self.keys[pid] = key
            self.report(pid, frame)
        else:
            pid = self.keepers.get(key)
            if pid is not None:
                self.report(pid, frame)
                if kind == b"e":
                    self.stuck[pid] = time.monotonic() + STUCK_S
                    # Its processes may have stopped it.
                    os.kill(pid, signal.SIGCONT)
            elif kind == b"e":
                say("g %s\n" % key.decode())

    def report(self, pid, frame):
        try:
            send(self.tasks[pid], frame)
        except OSError:
            # It was killed, which shows when it is reaped.
            pass

    def hear(self, notes):
        for (pid,) in struct.iter_unpack("=i", notes):
            self.leave(pid)
            if pid not in self.tasks:
                continue
            if len(self.idle) < MAX_IDLE:
                self.idle.append(pid)
            else:
                self.dismiss(pid)

    def leave(self, pid):
        self.stuck.pop(pid, None)
        key = self.keys.pop(pid, None)
        if key is not None:
            self.keepers.pop(key, None)
        return key

    def reap(self):
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.spared.discard(pid)
            if pid not in self.tasks:
                continue
            # Somebody killed it. Its processes are now this process's children.
            os.close(self.tasks.pop(pid))
            if pid in self.idle:
                self.idle.remove(pid)
            self.hunting = 1
            key = self.leave(pid)
            if key is not None:
                say("l %s\n" % key.decode())

    def look_after_stuck(self):
        now = time.monotonic()
        for pid, since in list(self.stuck.items()):
            if since < now:
                del self.stuck[pid]
                os.kill(pid, signal.SIGKILL)

def become_subreaper():
    # PR_SET_CHILD_SUBREAPER
    prctl(36, 1)

def hide():
    # Processes of the same uid can neither read this one's memory nor trace it (PR_SET_DUMPABLE).
    prctl(4, 0)

def close_strays():
    # The processes do not need what the runner's own parent left open, either.
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            try:
                os.close(int(name))
            except OSError:
                pass

def main():
    os.umask(0o022)
    close_strays()
    if SECCOMP:
        install_seccomp_filter()
    if NETWORK_NAMESPACE:
        check_network_namespace()
    served = gateway(GATEWAY) if GATEWAY and not NETWORK_NAMESPACE else None
    for number in range(1, 32):
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
    become_subreaper()
    spawner = Spawner()
    if served is not None:
        spawner.spared.add(served)
    if WARM:
        warm_up()
    if STATE:
        prepare_landlock(STATE)
    if PRIVATE:
        hide()
    spawner.serve()
