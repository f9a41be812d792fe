# Whether a gateway could listen in this network. Like loopback.py, it avoids most of `socket`. Its argument is the port.

import _socket, sys
listener = _socket.socket()
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen()
