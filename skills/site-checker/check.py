"""Requests one URL and prints what came back as JSON. Standard library only."""

import http.client
import ipaddress
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

TIMEOUT_S = 10


def candidates(address):
    """The URLs to try in order: both schemes for a bare host, plain HTTP first for hosts that seldom have a certificate."""
    if "://" in address:
        return [address]
    host = urllib.parse.urlsplit(f"//{address}").hostname or ""
    schemes = ["http", "https"] if is_local(host) else ["https", "http"]
    return [f"{scheme}://{address}" for scheme in schemes]


def is_local(host):
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(host)
        return True
    except ValueError:
        return False


def check(url):
    request = urllib.request.Request(url, headers={"User-Agent": "hull-site-checker", "Accept": "*/*"})
    started = time.monotonic()
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT_S)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return {
            "url": answer.geturl(),
            "status_code": answer.status,
            "response_time_ms": round((time.monotonic() - started) * 1000),
            "server": answer.headers.get("server"),
        }


def main():
    if len(sys.argv) != 2 or sys.argv[1].strip() == "":
        sys.exit("usage: check.py <url>")
    address = sys.argv[1].strip()
    try:
        parts = urllib.parse.urlsplit(address if "://" in address else f"http://{address}")
    except ValueError as error:
        sys.exit(f"This is not an address: {error}.")
    if parts.scheme.lower() not in ("http", "https"):
        sys.exit("Only http and https addresses can be checked.")
    result = None
    for url in candidates(address):
        try:
            result = check(url)
            break
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", None) or error)
            result = result or {"url": url, "status_code": None, "error": reason}
    json.dump(result, sys.stdout)


main()
