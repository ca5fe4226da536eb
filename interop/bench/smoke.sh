#!/usr/bin/env bash
# Runs every row of `bench compare` for a moment, real etcd against itself: shows that all rows
# run, answer and report, not what anything costs.
#
#   ORACLE_DIR   directory with etcd 3.7.3
#   MAINSTAY     the mainstay binary
set -u
for need in "${ORACLE_DIR:-}/etcd" "${MAINSTAY:-}"; do
  [ -x "$need" ] || { echo "smoke.sh: '$need' is not there; set ORACLE_DIR and MAINSTAY"; exit 2; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$MAINSTAY" bench compare all --server-a "$ORACLE_DIR/etcd" --server-b "$ORACLE_DIR/etcd" \
  --seconds "${SECONDS_PER_WINDOW:-1}" --rounds 1 --keys 5000 --dir "$work" \
  --json "$work/report.json" >"$work/table" 2>"$work/log" ||
  { echo "smoke.sh: bench compare failed:"; tail -n 20 "$work/log"; exit 1; }
failed=0
for row in $("$MAINSTAY" bench rows | cut -d' ' -f1); do
  lines=$(grep -c "^$row.* A/B " "$work/table")
  [ "$lines" -gt 0 ] || { echo "smoke.sh: row $row has no line in the table"; failed=1; }
done
if grep -E '[1-9][0-9.]* failed' "$work/table"; then
  echo "smoke.sh: requests failed"; failed=1
fi
grep -q '"server_micros_per_op"' "$work/report.json" || { echo "smoke.sh: no JSON"; failed=1; }
leftover=$(find "$work" -name 'bench-data-*' | wc -l)
[ "$leftover" -eq 0 ] || { echo "smoke.sh: $leftover data directories are left"; failed=1; }
[ "$failed" -eq 0 ] && echo "bench: all rows ran"
exit "$failed"
