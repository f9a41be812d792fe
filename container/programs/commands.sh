# Runs the commands of the file $1 as they would run on their own, and writes the folder in which they end to $2. Each
# process may have $3 KiB of memory of its own, if $3 is given: reserved memory that is never written to does not count.
[ -z "$3" ] || ulimit -d "$3"
exec 2>&1
trap "builtin pwd -P >$(printf %q "$2") 2>/dev/null" EXIT
hull_commands=$(<"$1")
set --
eval "unset hull_commands; $hull_commands"
