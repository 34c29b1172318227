# shellcheck shell=sh
# What the exporters in this directory share. It is read with `.`, not run; docs/exporters.md has the contract.

# progress PERCENT TEXT: a line for whoever waits.
progress() {
    [ -z "${PRESSROOM_PROGRESS-}" ] || printf '%s %s\n' "$1" "$2" >>"$PRESSROOM_PROGRESS"
}

# fail STATUS FOR_THE_VISITOR FOR_THE_LOG: the visitor is told neither paths nor commands.
fail() {
    [ -z "${PRESSROOM_MESSAGE-}" ] || printf '%s\n' "$2" >"$PRESSROOM_MESSAGE"
    printf '%s: %s\n' "${0##*/}" "$3" >&2
    exit "$1"
}

bad_input() { fail 65 "$1" "$2"; }
usage() { fail 64 'This export is not set up correctly.' "$1"; }

# first_of PROGRAM...: prints the first that is installed. None is a machine in trouble, perhaps in the middle of an
# upgrade: the status is that of a temporary failure, and if it stays, the breaker holds the exporter back.
first_of() {
    for program; do
        if command -v "$program"; then return 0; fi
    done
    fail 75 'The converter is not available at the moment.' "none of these is installed: $*"
}

# check_input FILE [WHAT]: an input is a readable file, named without a way up, whatever a parameter put into the name.
# WHAT it is for the visitor: a text, unless told otherwise.
check_input() {
    case /$1/ in
    */../*) bad_input "There is no such ${2-text}." "refusing an input with \`..\` in its name: $1" ;;
    esac
    if [ ! -f "$1" ] || [ ! -r "$1" ]; then bad_input "There is no such ${2-text}." "cannot read the input: $1"; fi
}

# first_bytes FILE N: the first N bytes in hex, without spaces.
first_bytes() {
    od -An -v -tx1 -N "$2" -- "$1" | tr -d ' \n'
}

# disk_full: less than 1 MiB is left in the working directory, which is the attempt's own.
disk_full() {
    free=$(df -Pk . | awk 'NR == 2 { print $4 }')
    [ "${free:-1024}" -lt 1024 ]
}

# give_up STATUS: ends with a converter's own status, or says that there was no room.
give_up() {
    if disk_full; then fail 75 'There is no room for this export at the moment.' 'the disk is full'; fi
    fail "$1" 'The export could not be made.' "the converter ended with status $1"
}
