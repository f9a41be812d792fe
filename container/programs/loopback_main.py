# With loopback.py before it: enables the loopback, drops the right to do so, and becomes the program that its arguments
# name.

import ctypes, os, sys
raise_loopback()
ctypes.CDLL(None).prctl(47, 4, 0, 0, 0)
os.execvp(sys.argv[1], sys.argv[1:])
