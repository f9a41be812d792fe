# With handler.py before it: the program of a process of its own.

if __name__ == "__main__":
    sys.path.pop(0)
    sys.exit(run(sys.argv[1], sys.argv[2:]))
