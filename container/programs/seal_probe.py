# With seal.py before it: succeeds if the filter can be set and works.

import socket, sys
seal()
socket.socketpair()
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
except OSError:
    sys.exit(0)
sys.exit("a socket could be made in spite of the filter")
