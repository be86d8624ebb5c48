"""What users read when something is wrong: the whole text, as the program and its API give it.

The tables are transcripts beside this file. `NOMAD_REWRITE=1` writes down what is said now, to be reviewed as
a diff. Lines:

    < name text     a file of the folder in which commands run; \\n and \\t stand for themselves, {ports} for a
                    block of an agent's ports
    @ GET /v1/x {}  what the agent of the following commands answers; the rest it refuses: 500 "broken"
    @ 404 GET …     another status, with that text
    $ job run x     a command; below it its exit code and what it says on stderr, indented by two
    > PUT /v1/x {}  a request to a running agent; below it the status and the text

What differs each time is written as {agent}, {folder}, {id} and the like.
"""
import contextlib
import http.server
import os
import re
import shlex
import subprocess
import tempfile
import threading
import unittest

import harness

TEXTS = os.path.dirname(os.path.abspath(__file__))


class Scripted(http.server.BaseHTTPRequestHandler):
    """An agent that has only the answers it was given."""
    answers = {}
    otherwise = (500, "broken")

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        status, text = self.answers.get((self.command, self.path)) or self.answers.get((self.command, path)) \
            or self.otherwise
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        if text.startswith(("{", "[")):
            self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_PUT = do_POST = do_DELETE = answer

    def log_message(self, *_):
        pass


class Transcript:
    """The lines of a table, and what is said now."""

    def __init__(self, name):
        self.path = os.path.join(TEXTS, name)
        with open(self.path) as f:
            self.before = f.read()
        self.now = []

    def asked(self):
        """The lines that ask or prepare; those that are answers are left out."""
        for line in self.before.split("\n"):
            if not line.startswith("  "):
                self.now.append(line)
                if line[:2] in ("< ", "@ ", "$ ", "> "):
                    yield line[0], line[2:]

    def said(self, code, text):
        self.now += [f"  {line}".rstrip() if line else "  ." for line in f"{code} {text.strip()}".split("\n")]

    def judge(self, case):
        now = "\n".join(self.now)
        if os.environ.get("NOMAD_REWRITE"):
            with open(self.path, "w") as f:
                f.write(now)
        case.maxDiff = None
        case.assertEqual(self.before, now)


def written(folder, line):
    name, _, text = line.partition(" ")
    if "{ports}" in text:
        text = text.replace("{ports}", "ports {\nhttp = %d\nrpc = %d\nserf = %d\n}\n" % tuple(
            harness.free_port() for _ in range(3)))
    with open(os.path.join(folder, name), "w") as f:
        f.write(text.replace("{folder}", folder).replace("\\n", "\n").replace("\\t", "\t"))


class Commands(unittest.TestCase):
    def play(self, name):
        class Answers(Scripted):
            answers = {}

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        address = f"http://127.0.0.1:{server.server_port}"
        transcript = Transcript(name)
        with tempfile.TemporaryDirectory() as folder:
            environment = {"PATH": os.environ["PATH"], "NOMAD_ADDR": address, "HOME": folder}
            for kind, line in transcript.asked():
                if kind == "<":
                    written(folder, line)
                elif kind == "@":
                    status, method, path, text = re.fullmatch(r"(?:(\d{3}) )?(\S+) (\S+) ?(.*)", line).groups()
                    Answers.answers[method, path] = (int(status or 200), text)
                else:
                    words = [word.replace("{folder}", folder).replace("{agent}", address) for word in shlex.split(line)]
                    done = subprocess.run([harness.BINARY, *words], stdin=subprocess.DEVNULL, cwd=folder,
                                          capture_output=True, text=True, env=environment, timeout=60)
                    said = re.sub(r"\n?Usage: .*", "", done.stderr, flags=re.S)
                    said = re.sub(r"(?m)^\S+Z \[.*\n", "", said)  # what an agent logs
                    said = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "{time}", said)
                    transcript.said(done.returncode, said.replace(address, "{agent}").replace(folder, "{folder}"))
        transcript.judge(self)

    def test_commands_with_mistakes(self):
        self.play("commands.txt")

    def test_commands_that_the_agent_refuses(self):
        self.play("refused_commands.txt")

    def test_agents_with_mistakes_in_their_configuration(self):
        self.play("config.txt")

    def test_no_command_aborts_whatever_the_agent_answers(self):
        class Odd(Scripted):
            answers = {}

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        with open(os.path.join(TEXTS, "refused_commands.txt")) as f:
            lines = sorted({line[2:] for line in f.read().split("\n") if line.startswith("$ ")})
        with tempfile.TemporaryDirectory() as folder:
            written(folder, "j.hcl " + 'job "web" {}')
            written(folder, "ns.hcl " + 'name = "x"')
            for text in ("[7]", "{}"):
                Odd.otherwise = (200, text)
                for line in lines:
                    with self.subTest(command=line, answer=text), contextlib.suppress(subprocess.TimeoutExpired):
                        done = subprocess.run([harness.BINARY, *shlex.split(line)], stdin=subprocess.DEVNULL, cwd=folder,
                                              capture_output=True, text=True, timeout=10,
                                              env=dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{server.server_port}"))
                        self.assertGreaterEqual(done.returncode, 0, done)


class Requests(harness.AgentTest):
    """Of an agent with a job "web" whose allocation is {alloc}, its evaluation {eval}."""

    def test_requests_with_mistakes(self):
        self.agent.register(harness.job("web"))
        known = {"{alloc}": self.agent.wait_for_allocs("web", "running")[0]["ID"],
                 "{eval}": self.agent.get("/v1/job/web/evaluations").json[0]["ID"],
                 "{node}": self.agent.get("/v1/nodes").json[0]["ID"]}
        transcript = Transcript("http.txt")
        for _, line in transcript.asked():
            for name, value in known.items():
                line = line.replace(name, value)
            method, path, body = re.fullmatch(r"(\S+) (\S+) ?(.*)", line).groups()
            with self.subTest(request=line):
                answer = self.agent.request(method, path, body or None, timeout=60)
            text = answer.body
            for name, value in known.items():
                text = text.replace(value, name)
            text = re.sub(r'((?:index|Index|Time)"?: ?)\d+', r"\1{number}", text)
            transcript.said(answer.status, text if answer.status >= 400 else "")
        transcript.judge(self)


if __name__ == "__main__":
    harness.main()
