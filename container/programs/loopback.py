# `raise_loopback()` enables the loopback of a new network.

def raise_loopback():
    # `socket` itself takes most of the time of a program that needs no more of it.
    import _socket, fcntl, struct
    made = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    try:
        fcntl.ioctl(made, 0x8914, struct.pack("16sh22x", b"lo", 1))
    finally:
        made.close()
