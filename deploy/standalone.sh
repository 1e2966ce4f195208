#!/bin/sh
# yakusu in one file. The first start unpacks it into the cache of the user; later ones only run it.
set -eu
cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}/yakusu
folder=$cache/@DIGEST@

fail() {
    echo "error: $cache: $1, or set XDG_CACHE_HOME to another folder" >&2
    exit 2
}

if ! [ -x "$folder/yakusu" ]; then
    mkdir -p "$cache" 2>/dev/null || fail "it cannot be created: make it writable"
    part=$(mktemp -d "$cache/part-XXXXXX" 2>/dev/null) || fail "it cannot be written: make it writable"
    trap 'rm -rf "$part"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    tail -n +@LINE@ "$0" | tar -xzf - -C "$part" ||
        fail "the program could not be unpacked: free some space"
    # Of several first starts at the same time, one wins.
    [ -e "$folder" ] || mv "$part" "$folder" 2>/dev/null || [ -x "$folder/yakusu" ]
    rm -rf "$part"
    trap - EXIT INT TERM
fi
exec "$folder/yakusu" "$@"
