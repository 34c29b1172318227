"""Serves exports from a Python site: a function that asks, and a WSGI application that answers a visitor."""

import json
import subprocess
from urllib.parse import parse_qs


def request(exporter, client=None, **values):
    """Asks for one file. The answer has a `state`, and for "ready" a `path`."""
    command = ["pressroom", "request", exporter, "--format", "json"]
    command += [f"{name}={value}" for name, value in values.items()]
    if client:
        command.append(f"--client={client}")
    # A list and no shell: nothing in a value can become a command. The exit status says what `state` says.
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if not done.stdout:
        return {"state": "unavailable", "reason": "exports are not set up correctly"}
    return json.loads(done.stdout)


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


def application(environ, start_response):
    # REMOTE_USER is whatever name a visitor claims (nginx's uwsgi_params), unless the server has asked for a password.
    query = parse_qs(environ.get("QUERY_STRING", ""))
    title = query.get("title", [""])[0]
    answer = request("epub", client=environ.get("REMOTE_ADDR"), title=title, lang="en")
    if answer["state"] == "ready":
        file = open(answer["path"], "rb")  # opened at once: it may be pruned some minutes from now
        headers = [("Content-Type", answer["content_type"]), ("Content-Length", str(answer["size"]))]
        start_response("200 OK", headers)
        return iter(lambda: file.read(65536), b"")
    wait = str(answer.get("retry_after") or 5)
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Retry-After", wait), ("Cache-Control", "no-store")]
    if answer["state"] in ("queued", "started"):
        headers.append(("Refresh", wait))  # the browser asks again by itself
    start_response(STATUS.get(answer["state"], "503 Service Unavailable"), headers)
    return [f"{answer.get('message') or answer['state']}\n".encode()]
