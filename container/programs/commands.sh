[ -z "$3" ] || ulimit -d "$3"; [ -n "$4" ] || exec 2>&1; [ -z "$5" ] || builtin echo "$5" >&2; trap 'trap - TERM; kill $$' TERM; trap "builtin pwd -P >$(printf %q "$2") 2>/dev/null; [[ -z \$(jobs -pr) ]] || builtin echo '[hull: what the command left in the background was ended with it]' >&2" EXIT; hull_commands=$(<"$1"); set --; eval "unset hull_commands; $hull_commands"
# Runs the commands of the file $1 as they would run by themselves, and writes the folder that they end in to $2. Each process
# may have $3 KiB of memory of its own, where that is given: what is reserved and never written to does not count. stderr comes
# with stdout, in the order written, unless $4 is given. $5 is a line for stderr that comes before it all. At SIGTERM bash waits
# for the command in the foreground, which gets it too, so that the jobs left are those of the background. Then it dies of the
# signal: a command out of time has no exit code. All of it is the first line, so that bash counts the lines of the commands
# from 1.
