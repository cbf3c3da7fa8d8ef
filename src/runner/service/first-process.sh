# The first process of a service, in its sandbox, its container or its session. Its input sets the variables of the service.
# It passes TERM on to all processes, as systemd does, and ends when they have. Descriptor 4 is the lock of the copy.
set -a
eval "$(cat)" || exit 125
set +a
exec </dev/null
slipway_background=$1 slipway_passed=
shift

slipway_pass() {
  # Once: a second TERM means to many programs that they must hurry.
  trap '' TERM
  [ -n "$!" ] || exit 143
  slipway_passed=1
  if [ $$ = 1 ]; then kill -TERM -1; else kill -TERM -$$; fi
}

# Whether another process of this namespace, or of this session, lives.
slipway_others() {
  for slipway_file in /proc/[0-9]*; do
    [ "$slipway_file" != "/proc/$$" ] || continue
    { read -r slipway_line <"$slipway_file/stat"; } 2>/dev/null || continue
    set -- ${slipway_line##*) }
    [ "$1" != Z ] || continue
    if [ $$ = 1 ] || [ "$4" = $$ ]; then return 0; fi
  done
  return 1
}

trap slipway_pass TERM
"$@" 4>&- &
# Some shells write a line about a process that a signal has ended, which would be output of the service.
wait "$!" 2>/dev/null
slipway_code=$?
if [ -n "$slipway_passed" ]; then
  # The first wait may have been interrupted; 127: it was not.
  wait "$!" 2>/dev/null
  slipway_again=$?
  [ "$slipway_again" = 127 ] || slipway_code=$slipway_again
fi
while [ "$slipway_background$slipway_passed" != no ] && slipway_others; do
  if [ -n "$slipway_passed" ]; then sleep 0.1 || sleep 1; else sleep 1; fi 4>&- 2>/dev/null
done
exit "$slipway_code"
