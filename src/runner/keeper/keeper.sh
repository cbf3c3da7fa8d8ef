# Keeps one service running: starts it, starts it again when it ends, and ends it on TERM. The runner starts this script with
# the folder of the instance as its argument, an empty environment, and the lock of the instance as descriptor 3. Nothing that
# is started here gets the lock.
cd "$1" || exit 1
# No line: the runner has ended before it knew of this process.
read -r line || exit 0
exec </dev/null 2>/dev/null
child=0 childborn=0 started=0 since=0 restarts=0 exits= last=- delay=1 guard=
. ./settings || exit 1
read -r boot </proc/sys/kernel/random/boot_id

now() { read -r up rest </proc/uptime; }

# What the kernel says of process $1.
look() {
  status=Z parent= session= birth=0
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  set -- ${line##*) }
  status=$1 parent=$2 session=$4 birth=${20}
}

# The state $1 since now, in a file that is always complete.
say() {
  now
  since=$up
  printf '%s\n' "boot $boot" "keeper $$ $born" "child $child $childborn" "phase $1 $since" "started $started" \
    "restarts $restarts" "exits$exits" "last $last" >state.new && mv state.new state
}

# The first process of copy $1: in a sandbox, what bwrap has started.
first() {
  target=$1
  [ "$kind" = sandbox ] || return 0
  while read -r key value; do
    [ "$key" = '"child-pid":' ] && look "${value%,}" && [ "$parent" = "$1" ] && target=${value%,}
  done <info
}

# What copy $1 has left in its session, or under its name.
sweep() {
  [ "$kind" != container ] || remove
  if [ "$kind" != none ] || [ "$1" = 0 ]; then return 0; fi
  for file in /proc/[0-9]*; do
    look "${file#/proc/}" && [ "$session" = "$1" ] && [ "$status" != Z ] && kill -KILL "${file#/proc/}"
  done
}

# The last process that was started in the background is ours until it has been waited for, so that its number is right.
lives() { look "$1" && [ "$parent" = $$ ] && [ "$status" != Z ]; }

# No request reaches what has ended, or another program that has its port now: the proxy finds no port and waits.
hide() { [ ! -e port ] || : >port; }

# Never returns to what was interrupted: a TERM between two lines cannot be lost.
stop() {
  trap '' TERM
  hide
  copy=$! tick=0
  while lives "$copy"; do
    first "$copy"
    if [ "$tick" -ge "$((grace * 10))" ]; then
      kill -KILL "$target"
      [ "$kind" != container ] || remove
    elif [ "$((tick % 10))" = 0 ]; then
      # Repeated, because a first process that has not set its trap yet ignores it. It passes only the first one on.
      kill -TERM "$target"
    fi
    tick=$((tick + 1))
    sleep 0.1 3>&- || sleep 1 3>&-
  done
  sweep "$copy"
  say stopped
  exit 0
}

trap '[ -z "$guard" ] || kill "$guard"' EXIT
trap stop TERM
look $$
born=$birth
# The runner frees the oldest output. Where there is no runner for long, the file begins anew.
(
  trap 'kill "$!"; exit' TERM
  while sleep 60 & wait "$!"; do
    look self && [ "$parent" = $$ ] || exit
    set -- $(du -k output)
    [ "$1" -le "$bound" ] || : >output
  done
) 3>&- &
guard=$!
hide
sweep 0
# A copy has this descriptor from its first moment on, so that the runner finds one whose keeper was killed before it had begun.
exec 4>copy
# Without its folder nobody can stop it any more.
while [ -e settings ]; do
  (
    exec 3>&-
    if [ "$kind" = container ]; then
      exec 4>&-
    else
      # Opened anew, the lock is that of the copy alone, held by its first process: there are never two.
      exec 4>copy
      flock 4 || exit 75
      # Written by the copy itself: a keeper that is killed now has told nobody of it.
      look self
      printf '%s\n' "$boot ${line%% *} $birth" >session
    fi
    start
  ) <env >>output 2>&1 5>info &
  child=$!
  look "$child"
  childborn=$birth
  now
  started=$up
  say running
  wait "$child"
  code=$?
  hide
  now
  last=$code
  exits="$exits $up"
  set -- $exits
  [ "$#" -le 5 ] || shift
  exits=" $*"
  sweep "$child"
  case $restart:$code in
    never:* | on-failure:0)
      say ended
      exit 0
      ;;
  esac
  say waiting
  [ "$((${up%.*} - ${started%.*}))" -lt 30 ] || delay=1
  sleep "$delay" 3>&- &
  wait "$!"
  delay=$((delay * 2))
  [ "$delay" -le 60 ] || delay=60
  restarts=$((restarts + 1))
done
