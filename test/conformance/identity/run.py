"""Asks an agent what tasks may ask with their identities, and compares with what the real Nomad 1.6.5 answered.

usage: run.py [options] [pattern]...      patterns of "METHOD PATH"; CLAIMS is what a token says, SOCKET the Task API
  NOMADCTL=program           the program of ours (default build/debug/nomadctl)
  -record                    NOMAD=program is the real one, which must be root's: keep what it answers
  -show                      print what was answered

What the files have stands in recorded.py, the world and the questions in world.py.
"""
import fnmatch
import http.client
import json
import os
import socket
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]

import recorded  # noqa: E402
import world  # noqa: E402


class ToSocket(http.client.HTTPConnection):
    """By a directory: the path of a socket must be short."""

    def __init__(self, directory):
        super().__init__("localhost", timeout=30)
        self.directory = directory

    def connect(self):
        held = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect(f"/proc/self/fd/{held}/api.sock")
        finally:
            os.close(held)


class Asker(recorded.Asker):
    def once(self, method, path, body, token, source):
        if method != "SOCKET":
            return super().once(method, path, body, token, source)
        connection = ToSocket(self.world.socket())
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {token}"} if token else {})
            answer = connection.getresponse()
            return self.shown(answer.status, answer.read().decode(errors="replace"))
        finally:
            connection.close()

    def claims(self, token):
        """What it says; a secret says nothing."""
        if token.count(".") != 2 or not token.split(".")[0]:
            return "none"
        head, body = (world.decoded(part) for part in token.split(".")[:2])
        return self.plain(json.dumps([head, body], sort_keys=True))


def ask_all(patterns):
    built = world.World()
    try:
        asker, seen = Asker(built, world.GUESSES), {}

        def is_wanted(name):
            return not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)

        if is_wanted("CLAIMS"):
            seen["CLAIMS"] = {name: asker.claims(token) for name, token in built.tokens.items() if name not in world.GUESSES}
        for method, path, *rest in built.operations():
            name = asker.plain(f"{method} {path}")
            if is_wanted(name):
                seen[name] = asker.ask_with_each(method, path, rest[0] if rest else None)
        return seen
    finally:
        built.destroy()


if __name__ == "__main__":
    recorded.main(HERE, __doc__, ask_all)
