# `raise_loopback()` enables the loopback of a new network.

def raise_loopback():
    import fcntl, socket, struct
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        fcntl.ioctl(made, 0x8914, struct.pack("16sh22x", b"lo", 1))
    finally:
        made.close()
