# The gateway of a network that has only a loopback: it connects each client of its port with the runner's proxy, a
# socket file (egress-proxy.ts). `gateway(path)` starts it as a child and returns its pid; it ends with the process that
# started it.

def gateway(path):
    import ctypes, os, signal, socket, threading, time
    listener = socket.create_server(("127.0.0.1", GATEWAY_PORT), backlog=128)
    pid = os.fork()
    if pid != 0:
        listener.close()
        return pid
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    # It holds no stream of the other process open.
    nothing = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    kept = listener.detach()
    os.closerange(3, kept)
    os.closerange(kept + 1, os.sysconf("SC_OPEN_MAX"))
    listener = socket.socket(fileno=kept)
    def pump(source, sink):
        try:
            while True:
                piece = source.recv(65536)
                if not piece:
                    break
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (source, sink):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
    def serve(near):
        try:
            with near, socket.socket(socket.AF_UNIX) as far:
                far.connect(path)
                back = threading.Thread(target=pump, args=(far, near), daemon=True)
                back.start()
                pump(near, far)
                back.join()
        except (OSError, RuntimeError):
            pass
    # More clients than it may have descriptors or threads are not its end: they wait, or their connections break.
    while True:
        try:
            near, _ = listener.accept()
        except OSError:
            time.sleep(0.1)
            continue
        try:
            threading.Thread(target=serve, args=(near,), daemon=True).start()
        except RuntimeError:
            near.close()
