#!/usr/bin/env bash
# Runs every line of cases.sh with the real etcdctl and with ours, each on a fresh real etcd that
# listens on the same ports, and compares standard output and exit code byte for byte.
#
#   ORACLE_DIR   directory with etcd and etcdctl 3.7.3
#   ETCDCTL      the binary to check: mainstay, or a link to it named etcdctl
#
# Masked: lease ids (the server chooses them), durations, sizes of the backend file.
set -u
here=$(cd "$(dirname "$0")" && pwd)
for need in "${ORACLE_DIR:-}/etcd" "${ORACLE_DIR:-}/etcdctl" "${ETCDCTL:-}"; do
  [ -x "$need" ] || { echo "compare.sh: '$need' is not there; set ORACLE_DIR and ETCDCTL"; exit 2; }
done
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
ln -s "$(readlink -f "$ETCDCTL")" "$work/etcdctl"
unset "${!ETCDCTL_@}" 2>/dev/null

# Two ports that are free now; both servers use the same ones, so that all ids are equal.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}
client=$(free_port)
peer=$(free_port)

start() {
  rm -rf "$work/data"
  "$ORACLE_DIR/etcd" --data-dir "$work/data" --log-level error \
    --listen-client-urls "http://127.0.0.1:$client" \
    --advertise-client-urls "http://127.0.0.1:$client" \
    --listen-peer-urls "http://127.0.0.1:$peer" \
    --initial-advertise-peer-urls "http://127.0.0.1:$peer" \
    --initial-cluster "default=http://127.0.0.1:$peer" >"$work/etcd.log" 2>&1 &
  server=$!
  for _ in $(seq 100); do
    "$ORACLE_DIR/etcdctl" --endpoints "127.0.0.1:$client" endpoint health >/dev/null 2>&1 && return
    sleep 0.1
  done
  echo "compare.sh: etcd does not start:"; cat "$work/etcd.log"; exit 2
}

stop() { kill "$server"; wait "$server" 2>/dev/null; server=; }

# The helpers that cases.sh is written in.
count=0
lease=
begin() { count=$((count + 1)); printf '%s\n' "$*" >"$out/$(printf %03d $count).cmd"; }
finish() {
  local base; base=$out/$(printf %03d $count)
  echo "exit $1" >>"$base.raw"
  mask <"$base.raw" >"$base.out"
}
mask() {
  sed -E -e "s/$lease_hex/LEASE/g" -e "s/$lease_dec/LEASE/g" -e 's#^(l|e)/[0-9a-f]+$#\1/LEASE#' \
    -e 's/[0-9.]+(ns|µs|ms|s)("|$| │)/TOOK\2/' -e 's/took [0-9.]+(µs|ms|s)/took TOOK/' \
    -e 's/(found [0-9]+ leases)/\1/' -e 's/("dbSize(InUse)?":)[0-9]+/\1SIZE/g' \
    -e 's/("DBSize(InUse)?" : )[0-9]+/\1SIZE/' \
    -e 's/, [0-9.]+ [kM]B, [0-9.]+ [kM]B, -?[0-9]+%,/, SIZE,/' \
    -e '/MB|kB/s/[0-9.]+ [kM]B/SIZE/g; /SIZE/s/ +[0-9]+% │/ PERCENT │/' \
    -e 's/remaining\([0-9]+s\)/remaining(TTL)/; s/"ttl":(99[0-9]|1000)/"ttl":TTL/' \
    -e 's/"TTL" : 99[0-9]/"TTL" : 1000/' -e 's/─+/─/g' -e 's/ +/ /g'
}
lease_hex=NOLEASE
lease_dec=NOLEASE
ctl() { "$bin" --endpoints "127.0.0.1:$client" "$@"; }
# A command without input.
t() {
  begin "$@"
  ctl "$@" >"$out/$(printf %03d $count).raw" 2>"$out/$(printf %03d $count).err" </dev/null
  finish $?
}
# A command with input: the first argument.
i() {
  local input=$1; shift
  begin "$@" "<<<" "$input"
  printf "$input" | ctl "$@" >"$out/$(printf %03d $count).raw" 2>"$out/$(printf %03d $count).err"
  finish $?
}
# A command that does not end by itself: it is stopped by a signal once it has printed so many
# bytes, or after 5 s. The first argument is their number, the second the signal.
w() {
  local bytes=$1 signal=$2 raw pid; shift 2
  begin "$@"
  raw=$out/$(printf %03d $count).raw
  : >"$raw"
  "$bin" --endpoints "127.0.0.1:$client" "$@" >"$raw" 2>"${raw%.raw}.err" </dev/null &
  pid=$!
  for _ in $(seq 50); do
    [ "$(stat -c %s "$raw")" -ge "$bytes" ] && break
    kill -0 $pid 2>/dev/null || break
    sleep 0.1
  done
  kill -s "$signal" $pid 2>/dev/null
  wait $pid 2>/dev/null
  local code=$?
  [ "$signal" = KILL ] && code=killed
  finish $code
}
# Grants the lease that later cases call $lease.
grant() {
  lease=$(ctl lease grant 1000 | cut -d' ' -f2)
  lease_hex="$lease_hex|$lease"
  lease_dec="$lease_dec|$((16#$lease))"
}

play() {
  bin=$1 out=$2 count=0
  mkdir -p "$out"
  start
  . "$here/cases.sh"
  stop
}
play "$ORACLE_DIR/etcdctl" "$work/real"
play "$work/etcdctl" "$work/ours"

different=0
for cmd in "$work"/real/*.cmd; do
  name=$(basename "$cmd" .cmd)
  if ! diff -u "$work/real/$name.out" "$work/ours/$name.out" >"$work/diff"; then
    different=$((different + 1))
    echo "--- case $name: etcdctl $(cat "$cmd")"
    cat "$work/diff"; tail -n 3 "$work/ours/$name.err"
  fi
done
total=$(ls "$work"/real/*.cmd | wc -l)
echo "etcdctl: $total command lines, $different different"
[ "$different" -eq 0 ]
