# Finds and kills the descendants of this process.

import os, signal

def children_of(pid):
    # Of all threads: a child belongs to the one that started it, while that lives.
    found = []
    try:
        for thread in os.listdir("/proc/%s/task" % pid):
            with open("/proc/%s/task/%s/children" % (pid, thread), "rb") as children:
                found += children.read().split()
    except OSError:
        pass
    return [int(child) for child in found]

def children_by_search(pid):
    # The kernel has no list of children.
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name, "rb") as file:
                    if int(file.read().rsplit(b")", 1)[1].split()[1]) == int(pid):
                        found.append(int(name))
            except OSError:
                pass
    return found

if not os.path.exists("/proc/self/task/%d/children" % os.getpid()):
    children_of = children_by_search

def kill_descendants(passes, spared=()):
    # Each process is killed before the search for its children: a killed process starts no more. Children that come to this
    # process meanwhile, because their parent died, are left for the next pass. A process that keeps forking and leaving can
    # only be hit soon after it was found, so most passes look only at the children of this process. A chain of processes
    # that grows at its end is only overtaken by a pass that goes down.
    descendants = [pid for pid in children_of(os.getpid()) if pid not in spared]
    killed = 0
    for pid in descendants:
        try:
            os.kill(pid, signal.SIGKILL)
            killed += 1
        except OSError:
            # It is gone, or runs as another user by a setuid file.
            pass
        if passes % 8 == 0:
            descendants += children_of(pid)
    return killed
