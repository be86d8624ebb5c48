"""Nomad's commands, flags and paths, by their names as test/data/surface has them: each is here, or has a reason."""
import fnmatch
import glob
import http.client
import json
import os
import re
import subprocess
import unittest

import harness

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data", "surface")
SHOW_SHAPE = "-\1shape"  # cli/arguments.hpp
SHARED = {"address", "region", "namespace", "token", "ca-cert", "ca-path", "client-cert", "client-key",
          "tls-server-name", "tls-skip-verify", "no-color", "force-color"}


def lines_of(name):
    with open(os.path.join(DATA, name)) as f:
        return [line for line in f.read().split("\n") if line and not line.startswith("#")]


class Reasons:
    def __init__(self):
        self.patterns = dict(line.split("\t") for line in lines_of("reasons.txt"))
        self.used = set()

    def excuse(self, what):
        found = [pattern for pattern in self.patterns if fnmatch.fnmatchcase(what, pattern)]
        self.used.update(found)
        return bool(found)


def run(*words):
    return subprocess.run([harness.BINARY, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


def missing_of_command(name, flags):
    """What is not there of a command: itself, or "<command> -<flag>"."""
    words = name.split("_")
    done = run(*words, SHOW_SHAPE)
    is_group = done.returncode != 0 and run(*words, "-help").returncode == 0
    if is_group:
        return []
    if done.returncode != 0:
        return [name]
    ours = {flag["name"] for flag in json.loads(done.stdout)["flags"]}
    return [f"{name} {flag}" for flag in flags if flag.lstrip("-") not in ours | SHARED]


def answers(agent, method, path):
    """Whether anything is behind the path by that method. Of one without an id any 404 says that there is not, of one with an
    id (which nothing has) one without a text. What is answered is not read: some answers have no end."""
    connection = http.client.HTTPConnection("127.0.0.1", agent.port, timeout=20)
    try:
        connection.request(method, path + ("x/y" if path.endswith("/") else ""))
        reply = connection.getresponse()
        is_text = path.endswith("/") and reply.headers.get("Content-Length") != "0"
        return reply.status != 405 and (reply.status != 404 or is_text)
    finally:
        connection.close()


def parameters_of_sources():
    """The parameters that handlers read of a query, by their names in the sources."""
    names = set()
    for path in glob.glob(os.path.join(harness.ROOT, "actors", "api", "**", "*.cpp"), recursive=True):
        with open(path) as f:
            names.update(re.findall(r'parameter\w*\((?:[\w.]+\(?\)?, )?"(\w+)"', f.read()))
    return names


class SurfaceTest(unittest.TestCase):
    def test_what_describes_the_api_has_every_parameter_that_is_read(self):
        agent = harness.Agent()
        self.addCleanup(agent.destroy)
        agent.start()
        whole = agent.get("/v1/openapi.json").json
        read = parameters_of_sources()
        self.assertGreater(len(read), 40)
        self.assertLess({"index", "namespace", "task", "eval_priority"}, read)
        self.assertEqual(set(), read - set(whole["components"]["parameters"]), "read, and in no row of operation_table.cpp")

    def test_each_name_is_here_or_has_a_reason(self):
        reasons = Reasons()
        missing = []
        for line in lines_of("commands.txt"):
            name, *flags = line.split()
            if not reasons.excuse(name):
                missing += [what for what in missing_of_command(name, flags) if not reasons.excuse(what)]
        agent = harness.Agent()
        self.addCleanup(agent.destroy)
        agent.start()
        for path in lines_of("operations.txt"):
            if reasons.excuse(path):
                continue
            if not any(answers(agent, method, path) for method in ("GET", "PUT", "DELETE")):
                missing.append(path)
        self.assertEqual([], missing)
        self.assertEqual(set(), set(reasons.patterns) - reasons.used, "reasons for what is here, or nowhere")


if __name__ == "__main__":
    harness.main()
