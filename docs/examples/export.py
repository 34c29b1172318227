"""Serves exports from a Python site: a function that asks, and a WSGI application that answers a visitor."""

import json
import logging
import subprocess
import time
from urllib.parse import parse_qs, quote, urlencode

# A server may hand on no environment and no PATH, so both are named here by their full paths.
PRESSROOM = "/usr/local/bin/pressroom"
CONFIG = "/etc/pressroom/pressroom.toml"
# The page stops asking after so many seconds: somebody may have forgotten it in a tab.
PATIENCE = 1800
# Exit statuses that are an answer to a visitor. What any other one means is for the log.
ANSWERS = (0, 65, 66, 69, 70, 75)

log = logging.getLogger("export")


def request(exporter, client=None, **values):
    """Asks for one file. The answer has a `state`, and for "ready" a `path`."""
    command = [PRESSROOM, "--config", CONFIG, "request", exporter, "--format", "json"]
    for name, value in values.items():
        if "\0" in value:  # no argument can hold one
            return {"state": "invalid", "reason": f"parameter {name} contains a control character"}
        command.append(f"{name}={value}")
    if client:
        command.append(f"--client={client}")
    # A list and no shell: nothing in a value can become a command. The exit status says what `state` says.
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        log.error("cannot run %s: %s", PRESSROOM, error)
        return {"state": "unavailable"}
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if answer is None or done.returncode not in ANSWERS:
        said = (done.stderr or done.stdout).decode(errors="replace").splitlines()
        log.error("%s ended with status %d: %s", PRESSROOM, done.returncode, said[0] if said else "it said nothing")
        return {"state": "unavailable"}
    return answer


STATUS = {
    "queued": "202 Accepted",
    "started": "202 Accepted",
    "invalid": "400 Bad Request",
    "absent": "404 Not Found",
    "limited": "429 Too Many Requests",
    "failed_unknown": "500 Internal Server Error",
    "unavailable": "503 Service Unavailable",
    "failed_timeout": "504 Gateway Timeout",
}


def attachment(name):
    """The header that saves a file under its name, in ASCII for old programs and as it is."""
    plain = "".join(c if " " <= c <= "~" and c not in '"\\%' else "_" for c in name)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def application(environ, start_response):
    # REMOTE_USER is whatever name a visitor claims (nginx's uwsgi_params), unless the server has asked for a password.
    query = parse_qs(environ.get("QUERY_STRING", ""))
    title = query.get("title", [""])[0]
    answer = request("epub", client=environ.get("REMOTE_ADDR"), title=title, lang="en")
    if answer["state"] == "ready":
        file = open(answer["path"], "rb")  # opened at once: it may be pruned some minutes from now
        headers = [
            ("Content-Type", answer["content_type"]),
            ("Content-Length", str(answer["size"])),
            ("Content-Disposition", attachment(answer["title"])),
            ("X-Content-Type-Options", "nosniff"),
        ]
        start_response("200 OK", headers)
        return iter(lambda: file.read(65536), b"")
    wait = str(answer.get("retry_after") or 5)
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Retry-After", wait), ("Cache-Control", "no-store")]
    since = query.get("since", [""])[0]
    since = int(since) if since.isascii() and since.isdigit() and len(since) < 12 else int(time.time())
    if answer["state"] in ("queued", "started") and time.time() - since < PATIENCE:
        again = urlencode({"title": title, "since": since})
        headers.append(("Refresh", f"{wait}; url=?{again}"))  # the browser asks again by itself
    start_response(STATUS.get(answer["state"], "503 Service Unavailable"), headers)
    return [f"{answer.get('message') or answer['state']}\n".encode()]
