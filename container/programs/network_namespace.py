# Gives each execution of a keeper a network namespace of its own, with only a loopback. The keeper makes it before the
# execution comes, since the kernel takes longer to make a network than to start a process.
#
# `check_network_namespace()` ends this process if the kernel gives it none. `renew_network()` leaves the last execution's
# network for a new one. `confine_to_network()` keeps the programs that the calling thread becomes or starts in it, for ever;
# if the kernel had no further network, they have none.

# Whether this process has a network of its own; whether no execution has used it yet.
entered = fresh = False

def renew_network():
    global entered, fresh
    if fresh and is_unused():
        return
    fresh = False
    try:
        if entered:
            unshare(NEW_NETWORK)
        else:
            enter_namespaces(NEW_NETWORK)
        entered = True
        raise_loopback()
        fresh = True
    except OSError:
        pass

def is_unused():
    # Sockets end with their processes; what remains of them, such as ports that TCP still reserves, comes from traffic.
    try:
        with open("/proc/self/net/dev") as devices:
            counts = [line.split() for line in devices]
    except OSError:
        return False
    return [line[2] for line in counts if line[0] == "lo:"] == ["0"]

def confine_to_network():
    drop_capabilities()
    install_seccomp_filter(own_network=fresh)

def check_network_namespace():
    # Keepers are forks of this process, and find these modules loaded.
    import ctypes, fcntl, os, socket, struct
    pid = os.fork()
    if pid == 0:
        try:
            renew_network()
            confine_to_network()
            server = socket.create_server(("127.0.0.1", 0))
            socket.create_connection(server.getsockname()).close()
            os._exit(0 if not is_unused() else 1)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if status != 0:
        os._exit(1)
