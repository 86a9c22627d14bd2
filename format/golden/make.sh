#!/bin/sh
# Makes the recordings anew: sh format/golden/make.sh MEMTOLL OUTPUT_FOLDER
# Wants to be root, for a host name that says nothing about the machine. Only for a new major version of the format: within
# one, a reader reads what was once written.
set -eu
memtoll=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
mkdir -p "$2"
out=$(realpath "$2")
mkdir -p /tmp/golden
cd /tmp/golden
rm -f ./*.memtoll
for name in tiny forks patient costs; do
    cp "$here/$name.c" .
    cc -std=c11 -I "$here/../../remedies/include" -D_GNU_SOURCE -g -O1 -fno-builtin -pthread \
        -fdebug-prefix-map=/tmp/golden=. -o "$name" "$name.c"
done
unshare --uts sh -c "hostname golden
    '$memtoll' record -q --no-kernel -o tiny.memtoll -- ./tiny || [ \$? = 3 ]
    '$memtoll' record -q -o forks.memtoll -- ./forks
    '$memtoll' record -q --fault-period 1 -o costs.memtoll -- ./costs
    '$memtoll' record -q -o killed.memtoll -- ./patient & memtoll=\$!
    sleep 2.5
    kill -KILL \$memtoll
    wait \$memtoll || true"

cp tiny.memtoll forks.memtoll costs.memtoll killed.memtoll "$out"
