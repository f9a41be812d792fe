/**
 * A network with nothing but a loopback, and the gateway in it: what connects to its port is connected with the runner's
 * proxy, a socket file (way-out.ts). Both are Python, as the spawner is that lives there.
 */

/** Of the gateway, in each such network. */
export const GATEWAY_PORT = 3128;

/** Brings the loopback up, gives the right to that away, and becomes the program that its arguments name. */
export const LOOPBACK_PROGRAM = `
import ctypes, fcntl, os, socket, struct, sys
made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(made, 0x8914, struct.pack("16sh22x", b"lo", 1))
made.close()
ctypes.CDLL(None).prctl(47, 4, 0, 0, 0)
os.execvp(sys.argv[1], sys.argv[1:])
`;

/** Defines `gateway(path)`, which starts it: it ends with its spawner. */
export const GATEWAY = `
def gateway(path):
    import ctypes, os, signal, socket, threading
    listener = socket.create_server(("127.0.0.1", ${GATEWAY_PORT}), backlog=128)
    if os.fork() != 0:
        listener.close()
        return
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)
    nothing = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1):
        os.dup2(nothing, fd)
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
    while True:
        near, _ = listener.accept()
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(path)
        except OSError:
            near.close()
            continue
        for pair in ((near, far), (far, near)):
            threading.Thread(target=pump, args=pair, daemon=True).start()
`;
