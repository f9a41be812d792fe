# Starts processes, each with its allowed paths and its streams. For spawner.py.

import errno, os, signal

def start(fields):
    key, cwd, stdin, stdout, stderr, result, gate, skills, file = fields[:9]
    allowed_paths, argv, env = program_of(fields[9:])
    streams = streams_of(stdin, stdout, stderr, result)
    held = []
    try:
        # Held open at both ends meanwhile: opening a FIFO whose runner has died would block for ever.
        for fd, path, flags in streams:
            held.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        os.chdir(cwd)
        if gate or skills or (NETWORK_NAMESPACE and GATEWAY):
            return start_forked(gate, skills, cwd, key, streams, allowed_paths, file, argv, env)
        actions = [(os.POSIX_SPAWN_OPEN, fd, path, flags, 0) for fd, path, flags in streams]
        pid = start_spawned(allowed_paths, file, argv, env, actions)
    except OSError as error:
        fail(key, error)
        return None
    finally:
        for fd in held:
            os.close(fd)
        os.chdir("/")
    say("s %s %d\n" % (key.decode(), pid))
    return pid

def fail(key, error):
    say("f %s %s\n" % (key.decode(), errno.errorcode.get(error.errno, "EIO")))

def program_of(fields):
    paths_end = 1 + int(fields[0])
    argv_end = paths_end + 1 + int(fields[paths_end])
    env = dict(pair.split(b"=", 1) for pair in fields[argv_end:])
    return fields[1:paths_end], fields[paths_end + 1:argv_end], env

def streams_of(stdin, stdout, stderr, result):
    streams = [(0, stdin or b"/dev/null", os.O_RDONLY), (1, stdout, os.O_WRONLY), (2, stderr, os.O_WRONLY)]
    return streams + [(3, result, os.O_WRONLY)] if result else streams

def start_spawned(allowed_paths, file, argv, env, actions):
    if landlock is None and not NETWORK_NAMESPACE:
        return spawn(file, argv, env, actions)

    # A process inherits the restrictions of the thread that starts it.
    def confined():
        restrict_self(create_ruleset(allowed_paths))
        if NETWORK_NAMESPACE:
            confine_to_network()
        return spawn(file, argv, env, actions)
    return in_thread(confined)

def spawn(file, argv, env, actions):
    try:
        return os.posix_spawn(file, argv, env, file_actions=actions, setsid=True, setsigdef=[signal.SIGPIPE])
    except OSError as error:
        # A text without "#!" is a shell script, as for execvp(3).
        if error.errno != errno.ENOEXEC:
            raise
        argv = [b"/bin/sh", file] + argv[1:]
        return os.posix_spawn(b"/bin/sh", argv, env, file_actions=actions, setsid=True, setsigdef=[signal.SIGPIPE])

def start_forked(gate, skills, cwd, key, streams, allowed_paths, file, argv, env):
    pid = os.fork()
    if pid != 0:
        return pid
    report = high(os.dup(out))
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        waiting = high(os.open(gate, os.O_RDONLY)) if gate else None
        redirect(streams)
        if skills:
            show_to_process(os.fsdecode(skills), cwd)
        ruleset = create_ruleset(allowed_paths)
        # After this the runner removes the pipes.
        os.write(report, b"s %s %d\n" % (key, os.getpid()))
        if waiting is not None and os.read(waiting, 1) == b"":
            os._exit(127)
        restrict_self(ruleset)
        if NETWORK_NAMESPACE:
            confine_to_network()
            if GATEWAY:
                gateway(GATEWAY)
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

def show_to_process(skills, cwd):
    # The process is dumpable for a moment, and its memory is a copy of its keeper's: only Landlock hides it from its uid.
    if PRIVATE and not STATE:
        return
    try:
        enter_namespaces(NEW_MOUNTS)
        show_skills(skills)
    except OSError:
        # The skills are still at the path that their texts name.
        pass
    drop_capabilities()
    os.chdir(cwd)

def redirect(streams):
    for fd, path, flags in streams:
        source = high(os.open(path, flags))
        os.dup2(source, fd)
        os.close(source)
