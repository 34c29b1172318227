#!/bin/sh
# The web front as a CGI program. What a server writes on the command line is not passed on.
# PRESSROOM_CONFIG names another configuration; set it in the server's configuration or here.
exec "${PRESSROOM:-pressroom}" request --cgi
