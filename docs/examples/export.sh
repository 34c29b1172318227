#!/bin/sh
# Fetches a book from a script: export.sh TITLE LANG FILE. Exit statuses are those of `pressroom request`.
set -u
title=$1 lang=$2 file=$3
# By its full path: cron and services have a short PATH.
pressroom=/usr/local/bin/pressroom

tries=0
while :; do
    # One argument for each value: nothing in a title can become an option or a command.
    answer=$("$pressroom" request epub "title=$title" "lang=$lang" --wait 20s)
    status=$?
    # For five minutes.
    if [ "$status" -ne 75 ] || [ "$tries" -ge 15 ]; then break; fi
    tries=$((tries + 1))
done

case $status in
0) cp -- "${answer#ready }" "$file.part" && mv -- "$file.part" "$file" || exit 74 ;; # the path goes to the end of the line
75) echo "not ready yet: $answer" >&2 ;;
65) echo "no such book: ${answer#invalid }" >&2 ;;
66) echo "not there: $answer" >&2 ;;
69) echo "no exports at the moment: $answer" >&2 ;;
70) echo "the export has failed: $answer" >&2 ;;
*) echo "$pressroom ended with status $status: ${answer:-see the line above}" >&2 ;;
esac
exit "$status"
