# Enables the loopback of a new network, drops the right to do so, and becomes the program that its arguments name.

import ctypes, fcntl, os, socket, struct, sys
made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(made, 0x8914, struct.pack("16sh22x", b"lo", 1))
made.close()
ctypes.CDLL(None).prctl(47, 4, 0, 0, 0)
os.execvp(sys.argv[1], sys.argv[1:])
