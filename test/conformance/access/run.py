"""Asks an agent every operation with every kind of token, and compares with what the real Nomad 1.6.5 answered.

usage: run.py [options] [pattern]...      patterns of "METHOD PATH"
  NOMADCTL=program           the program of ours (default build/debug/nomadctl)
  -record                    NOMAD=program is the real one: keep what it answers
  -show                      print what was answered

What the files have stands in recorded.py, the world and the questions in world.py.
"""
import fnmatch
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, ".."), HERE]

import recorded  # noqa: E402
import world  # noqa: E402


def name_of(asker, method, path, body):
    shown = asker.plain(f"{method} {path}")
    if isinstance(body, dict):
        what = body.get("Job", body)
        words = [str(what[key]) for key in ("Context", "Namespace", "ID", "Type", "PolicyOverride") if key in what]
        words += ["override"] if body.get("PolicyOverride") else []
        shown += f" ({', '.join(words)})" if words else ""
    return shown


def ask_all(patterns):
    built = world.World()
    try:
        asker, seen = recorded.Asker(built, world.NO_TOKENS), {}
        for method, path, *rest in built.operations():
            body = rest[0] if rest else None
            name = name_of(asker, method, path, body)
            if patterns and not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                continue
            assert name not in seen, f"two operations are called {name}"
            seen[name] = asker.ask_with_each(method, path, body)
        return seen
    finally:
        built.destroy()


if __name__ == "__main__":
    recorded.main(HERE, __doc__, ask_all)
