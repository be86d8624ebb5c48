"""What users read when something is wrong: the whole text, as the program and its API give it.

The tables are transcripts beside this file. `NOMAD_REWRITE_TRANSCRIPTS=1` writes down what is said now, to be
reviewed as a diff. Lines:

    < name text     a file in or below the folder in which commands run; \\n and \\t stand for themselves, {ports} for a
                    block of an agent's ports
    @ GET /v1/x {}  what the agent of the following commands answers; the rest it refuses: 500 "broken"
    @ 404 GET …     another status, with that text
    $ job run x     a command; below it its exit code and what it says on stderr, indented by two
    > PUT /v1/x {}  a request to a running agent; below it the status and the text

What differs each time is written as {agent}, {folder}, {id} and the like.
"""
import base64
import glob
import gzip
import hashlib
import http.server
import io
import json
import os
import re
import shlex
import socketserver
import subprocess
import tarfile
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
        if os.environ.get("NOMAD_REWRITE_TRANSCRIPTS"):
            with open(self.path, "w") as f:
                f.write(now)
        case.maxDiff = None
        case.assertEqual(self.before, now)


def written(folder, line):
    name, _, text = line.partition(" ")
    if "{ports}" in text:
        text = text.replace("{ports}", "ports {\nhttp = %d\nrpc = %d\nserf = %d\n}\n" % tuple(
            harness.free_port() for _ in range(3)))
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text.replace("{folder}", folder).replace("\\n", "\n").replace("\\t", "\t"))


class Commands(unittest.TestCase):
    def serve(self, handler):
        """The address of an agent that answers so."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def play(self, name):
        class Answers(Scripted):
            answers = {}

        address = self.serve(Answers)
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
                    said = re.sub(r"(?m)^\S+Z \[.*\n", "", done.stderr)  # what an agent logs
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

        address = self.serve(Odd)
        with open(os.path.join(TEXTS, "refused_commands.txt")) as f:
            lines = sorted({line[2:] for line in f.read().split("\n") if line.startswith("$ ")})
        with tempfile.TemporaryDirectory() as folder:
            written(folder, "j.hcl " + 'job "web" {}')
            written(folder, "ns.hcl " + 'name = "x"')
            for text in ("[7]", "{}"):
                Odd.otherwise = (200, text)
                for line in lines:
                    with self.subTest(command=line, answer=text):
                        done = subprocess.run([harness.BINARY, *shlex.split(line)], stdin=subprocess.DEVNULL, cwd=folder,
                                              capture_output=True, text=True, timeout=60,
                                              env=dict(os.environ, NOMAD_ADDR=address))
                        self.assertGreaterEqual(done.returncode, 0, done)


class BrokenAnswers(unittest.TestCase):
    """Of an agent whose answers break off, or are none."""
    alloc = "a1b2c3d4-1111-2222-3333-444444444444"
    half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    half_archive = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n\x1f\x8bhalf"

    def said(self, words, answers, stdin=subprocess.DEVNULL):
        """What a command says on stderr. `answers`: by path, bytes or what makes them of the request's head."""
        class Raw(socketserver.StreamRequestHandler):
            def handle(self):
                head = b""
                while line := self.rfile.readline().strip():
                    head += line + b"\n"
                if head:
                    answer = answers[head.split()[1].split(b"?")[0].decode()]
                    self.wfile.write(answer if isinstance(answer, bytes) else answer(head))

        with tempfile.TemporaryDirectory() as folder, socketserver.ThreadingTCPServer(("127.0.0.1", 0), Raw) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            try:
                done = subprocess.run([harness.BINARY, *words], stdin=stdin, cwd=folder, capture_output=True, text=True,
                                      env=dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{server.server_address[1]}"),
                                      timeout=60)
            finally:
                server.shutdown()
        self.assertEqual(1, done.returncode, done)
        return done.stderr.strip()

    def test_downloads_that_break_off(self):
        self.assertEqual("Error reading monitor: unexpected EOF", self.said(["monitor"], {"/v1/agent/monitor": self.half}))
        self.assertEqual("Failed to download snapshot file: unexpected EOF",
                         self.said(["operator", "snapshot", "save", "x.snap"], {"/v1/operator/snapshot": self.half_archive}))
        with tempfile.TemporaryDirectory() as place:
            def takes_the_name(_):
                os.mkdir(place + "/x.snap")
                return b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\x1f"

            self.assertEqual("Failed to finalize snapshot file: Is a directory",
                             self.said(["operator", "snapshot", "save", place + "/x.snap"],
                                       {"/v1/operator/snapshot": takes_the_name}))

    def exec_said(self, frames, accept=None, stdin=subprocess.DEVNULL):
        def upgraded(head):
            key = re.search(rb"(?i)sec-websocket-key: (\S+)", head)[1]
            proof = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
            return (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    b"Sec-WebSocket-Accept: " + (accept or proof) + b"\r\n\r\n" + frames)

        def json_answer(value):
            text = json.dumps(value).encode()
            return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)

        alloc = {"ID": self.alloc, "Namespace": "default", "JobID": "web", "TaskGroup": "g", "ClientStatus": "running",
                 "Job": {"ID": "web", "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t"}]}]},
                 "TaskStates": {"t": {"State": "running"}}}
        return self.said(["alloc", "exec", "-task", "t", "a1b2c3d4", "ls"],
                         {"/v1/allocations": json_answer([alloc]), f"/v1/allocation/{self.alloc}": json_answer(alloc),
                          f"/v1/client/allocation/{self.alloc}/exec": upgraded}, stdin)

    def test_commands_beside_a_task_whose_stream_is_none(self):
        failed = "failed to exec into task: "
        self.assertEqual(failed + "websocket: bad handshake", self.exec_said(b"", accept=b"x"))
        for frames, text in (
                (b"\x88\x02\x03\xe8", "websocket closed before receiving exit code: websocket: close 1000 (normal)"),
                (b"\x88\x02\x03\xe9", "websocket: close 1001"),
                (b"", "websocket: close 1006 (abnormal closure): unexpected EOF"),
                (b"\xff\xff", "websocket: the agent breaks the protocol (close 1002)"),
                (b"\x81\x017", "the agent sent a frame that is not a JSON object")):
            with self.subTest(text):
                self.assertEqual(failed + text, self.exec_said(frames))
        folder = os.open("/", os.O_RDONLY)
        self.addCleanup(os.close, folder)
        self.assertEqual(failed + "failed to send input: read: Is a directory", self.exec_said(b"\x89\x00", stdin=folder))


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

    def test_requests_with_headers_that_say_too_little(self):
        exec_path = "/v1/client/allocation/00000000-0000-0000-0000-000000000000/exec?task=t&command=[%22ls%22]"
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "x"}

        def without(name, **other):
            return {key: value for key, value in dict(upgrade, **other).items() if key != name}

        said = [self.agent.request(*question[:2], headers=question[2]).body.strip().split("\n")[-1] for question in (
            ("GET", "/v1/jobs", {"Host": "evil.example"}),
            ("PUT", "/v1/system/gc", {"Origin": "http://evil.example"}),
            ("PUT", "/v1/system/gc", {"Sec-Fetch-Site": "cross-site"}),
            ("GET", "/v1/client/gc", {"User-Agent": "Mozilla/5.0"}),
            ("POST", exec_path, upgrade), ("GET", exec_path, without("Connection")), ("GET", exec_path, without("Upgrade")),
            ("GET", exec_path, without("Sec-WebSocket-Version")), ("GET", exec_path, without("Sec-WebSocket-Key")))]
        websocket = "failed to upgrade connection: websocket: "
        self.maxDiff = None
        self.assertEqual([
            'this agent is not known as "evil.example"; ask it by its address, or add the name to http_allowed_hosts',
            'request origin not allowed: a page of "http://evil.example" may not act on '
            f'"127.0.0.1:{self.agent.port}"; add its host to http_allowed_hosts if it may',
            "a page of another origin may not act on this agent",
            "a browser that does not say whose page asks may not act on this agent by GET; ask by PUT",
            websocket + "the client is not using the websocket protocol: request method is not GET",
            websocket + "the client is not using the websocket protocol: 'upgrade' token not found in 'Connection' header",
            websocket + "the client is not using the websocket protocol: 'websocket' token not found in 'Upgrade' header",
            websocket + "unsupported version: 13 not found in 'Sec-Websocket-Version' header",
            websocket + "not a websocket handshake: 'Sec-WebSocket-Key' header is missing or blank"], said)

    def inspected(self, members, tail=b""):
        """What \"operator snapshot inspect\" says of an archive of `members`."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for name, content in members:
                head = tarfile.TarInfo(name)
                head.size = len(content)
                archive.addfile(head, io.BytesIO(content))
        return self.inspected_file(packed.getvalue() + tail)

    def inspected_file(self, content):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.snap")
            with open(path, "wb") as f:
                f.write(content)
            done = self.agent.run("operator", "snapshot", "inspect", path)
            return done.stderr.strip().replace(path, "x.snap")

    def test_snapshots_that_are_none(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "good.snap")
            self.agent.run("operator", "snapshot", "save", path, check=True)
            with open(path, "rb") as f:
                whole = f.read()
        with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
            good = [(member.name, archive.extractfile(member).read()) for member in archive.getmembers()]
        meta, state, sums = (dict(good)[name] for name in ("meta.json", "state.bin", "SHA256SUMS"))

        def summed(meta, state):
            return [("meta.json", meta), ("state.bin", state), ("SHA256SUMS", "".join(
                f"{hashlib.sha256(content).hexdigest()}  {name}\n"
                for name, content in (("meta.json", meta), ("state.bin", state))).encode())]

        self.assertEqual("", self.inspected(good))
        unpacked = gzip.decompress(whole)
        wrong = {
            "cut": self.inspected_file(whole[:len(whole) // 2]),
            "no gzip": self.inspected_file(b"not gzip at all, but long enough to look at"),
            "damaged": self.inspected_file(whole[:-8] + bytes(4) + whole[-4:]),
            "more behind it": self.inspected_file(gzip.compress(unpacked + b"x" * 512)),
            "no archive": self.inspected_file(gzip.compress(b"x" * 2048)),
            "a header's sum": self.inspected_file(gzip.compress(b"n" + unpacked[1:])),
            "another file": self.inspected([("other", b"x"), *good]),
            "another sum": self.inspected([("meta.json", meta), ("state.bin", state + b"x"), ("SHA256SUMS", sums)]),
            "no JSON": self.inspected(summed(b"{", state)),
            "another's": self.inspected(summed(b"{}", state)),
        }
        header = "a file header fails its checksum: this is no snapshot archive"
        self.maxDiff = None
        self.assertEqual({name: "Error verifying snapshot: " + text for name, text in {
            "cut": "the file is truncated",
            "no gzip": "the file is not compressed by gzip",
            "damaged": "the file is corrupted: x.snap: incorrect data check",
            "more behind it": "there is something behind the archive's end",
            "no archive": header,
            "a header's sum": header,
            "another file": 'the archive holds "other", which is no part of one',
            "another sum": "a file's SHA-256 does not match: the archive is corrupted",
            "no JSON": "meta.json is no JSON object: the file is corrupted",
            "another's": "the snapshot was not made by nomadctl: its state cannot be read",
        }.items()}, wrong)

    def test_libraries_that_are_no_plugins(self):
        with open(harness.BINARY, "rb") as f:
            elf = bytearray(f.read(64))
        elf[16] = 3  # a shared library
        other = bytearray(elf)
        other[4] = 1  # 32 bits
        machine = bytearray(elf)
        machine[18] = 8  # MIPS
        program = bytearray(elf)
        program[16] = 2  # no shared library
        said = {}
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("empty", b""), ("words", b"not a library\n" * 9), ("bits", bytes(other)),
                                  ("machine", bytes(machine)), ("program", bytes(program)), ("short", bytes(elf))):
                path = os.path.join(folder, name + ".so")
                with open(path, "wb") as f:
                    f.write(content)
                done = self.agent.run("plugin", "validate", path)
                said[name] = re.sub(r"this agent for \S+$", "this agent for another",
                                    done.stderr.strip().replace(folder + "/", ""))
            os.mkdir(os.path.join(folder, "d.so"))
            said["folder"] = self.agent.run("plugin", "validate", folder + "/d.so").stderr.strip().replace(folder + "/", "")
        no_library = "it is no library: the file is empty, or none"
        self.maxDiff = None
        self.assertEqual({name: f"{'d' if name == 'folder' else name}.so: {text}" for name, text in {
            "empty": no_library,
            "words": "it is no library: the file does not begin as an ELF file does",
            "bits": "it was built for 32 bits, this agent has 64",
            "machine": "it was built for machine 8, this agent for another",
            "program": "it is no shared library",
            "short": "it is no plugin: it has no NOMADCTL_PLUGIN",
            "folder": no_library,
        }.items()}, said)


class Starts(unittest.TestCase):
    """Of an agent whose data somebody has touched."""

    def said_at_start(self, agent):
        done = subprocess.run([harness.BINARY, "agent", "-config", agent.config_path], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        said = [line for line in done.stderr.split("\n") if line.startswith("==>")] or [done.stderr[-500:]]
        return said[-1].replace(agent.data_dir, "{data}")

    def test_lists_of_servers_that_recover_nothing(self):
        agent = harness.Agent().start()
        self.addCleanup(agent.destroy)
        agent.stop()
        path = os.path.join(agent.data_dir, "server/raft/peers.json")
        said = {}
        for text in ("{", "{}", "[7]", "[{}]", '[{"id":"a"}]', '[{"id":7,"address":"b"}]', '[{"id":"a","address":"x:1","non_voter":true}]',
                     '[{"id":"a","address":"x:1"},{"id":"a","address":"y:1"}]'):
            with open(path, "w") as f:
                f.write(text)
            said[text] = self.said_at_start(agent)
        os.remove(path)
        both = 'each server needs an "id" and an "address"'
        self.maxDiff = None
        self.assertEqual(["==> peers.json: " + text for text in (
            "incomplete JSON", "expected a list of servers", "each server is an object", both, both,
            'unexpected "id": expected the texts "id" and "address" and the truth value "non_voter"',
            "at least one server must be a voter", 'server "a" is named twice')], list(said.values()))
        key = os.path.join(agent.data_dir, "server/keystore/holder.key")
        os.chmod(key, 0o644)
        readable = self.said_at_start(agent)
        os.chmod(key, 0o600)
        with open(key, "wb") as f:
            f.write(b"x")
        self.assertEqual(f"==> keyring: {key}: a key file must be readable by its owner only (mode 0600)",
                         readable.replace("{data}", agent.data_dir))
        self.assertEqual(f"==> keyring: {key}: holds no key, or a damaged one: put back a sound copy",
                         self.said_at_start(agent).replace("{data}", agent.data_dir))


if __name__ == "__main__":
    harness.main()
