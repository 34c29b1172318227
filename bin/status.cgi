#!/bin/sh
# The status page as a CGI program. What a server writes on the command line is not passed on.
# Set in the server's configuration, or here: PRESSROOM_CONFIG, another configuration; PRESSROOM, another program.
PATH=${PATH:-/usr/bin:/bin}:/usr/local/bin
export PATH
exec "${PRESSROOM:-pressroom}" status --cgi
