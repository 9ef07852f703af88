"""Prints the address of one file of a Python package: file_url.py PROJECT FILE.

Asks the index that pip is configured for (PIP_INDEX_URL, pip's configuration files, else pip's own default)
and understands both forms of its answer, JSON and HTML.
"""

import base64
import html.parser
import json
import os
import subprocess
import sys
import urllib.parse
import urllib.request


def index_url():
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    for section in ("global", "install", "download"):
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "get", section + ".index-url"]
        answer = subprocess.run(pip, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if answer.returncode == 0 and answer.stdout.strip():
            return answer.stdout.strip()
    from pip._internal.models.index import PyPI

    return PyPI.simple_url


def request(url):
    """urllib does not read a name and a password from the address, as curl and pip do."""
    parts = urllib.parse.urlsplit(url)
    login, at, host = parts.netloc.rpartition("@")
    headers = {"Accept": "application/vnd.pypi.simple.v1+json, text/html;q=0.5"}
    if at:
        login = urllib.parse.unquote(login)
        headers["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
    return urllib.request.Request(parts._replace(netloc=host).geturl(), headers=headers)


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.hrefs = []

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value]


def find(text, is_json, base, name):
    """The absolute address of the file called name in an index page."""
    if is_json:
        hrefs = [entry["url"] for entry in json.loads(text)["files"]]
    else:
        links = Links()
        links.feed(text)
        hrefs = links.hrefs
    for href in hrefs:
        path = urllib.parse.urlsplit(href).path
        if urllib.parse.unquote(path.rsplit("/", 1)[-1]) == name:
            return urllib.parse.urldefrag(urllib.parse.urljoin(base, href)).url
    return None


def main():
    project, name = sys.argv[1:]
    page = index_url().rstrip("/") + "/" + project + "/"
    with urllib.request.urlopen(request(page), timeout=60) as answer:
        url = find(answer.read().decode(), "json" in answer.headers.get("Content-Type", ""), page, name)
    if url is None:
        sys.exit("the package index lists no " + name)
    print(url)


if __name__ == "__main__":
    main()
