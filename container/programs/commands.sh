# Runs the commands of the file $1 as they would run on their own, and writes the folder in which they end to $2.
exec 2>&1
trap "builtin pwd -P >$(printf %q "$2") 2>/dev/null" EXIT
hull_commands=$(<"$1")
set --
eval "unset hull_commands; $hull_commands"
