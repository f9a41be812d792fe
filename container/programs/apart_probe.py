# With apart.py before it: succeeds if executions can be kept apart. The arguments: the state folder, the required
# version of Landlock.

import os, sys
LANDLOCK_WANTED = int(sys.argv[2])
apart_from(sys.argv[1])
in_thread(lambda: keep_apart(open_rooms([])))
keep_apart(open_rooms([]))
os.listdir("/proc")
