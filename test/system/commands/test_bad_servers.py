"""Every command beside a server that is none, or answers nonsense: one clear line, the exit code of a failure, nothing half-done.

The commands are those of cli/commands.def. Those of LOCAL ask nobody. What a command needs behind its flags is made of its own
help: `<path>` becomes a job file, any other word a name or an id that could be one.
"""
import concurrent.futures
import fcntl
import http.server
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import unittest

import harness

ID = "11111111-2222-3333-4444-555555555555"
VOLUME = 'id = "v"\nname = "v"\ntype = "csi"\nplugin_id = "p"\ncapability {\n  access_mode = "single-node-writer"\n  attachment_mode = "file-system"\n}\n'
JOB = 'job "web" {\n  group "g" {\n    task "t" {\n      driver = "raw_exec"\n      config {\n        command = "true"\n      }\n    }\n  }\n}\n'
# Ask no server: they work on files, or on this machine.
LOCAL = {"agent", "config validate", "dev", "fmt", "init", "job init", "man", "node pool init", "node-sim", "operator client-state",
         "operator gossip keyring generate", "operator raft info", "operator raft logs", "operator raft state",
         "operator snapshot inspect", "plugin init", "plugin validate", "quota init", "tls ca create", "tls ca info",
         "tls cert create", "tls cert info", "var init", "version", "volume init", "operator keygen", "keygen",
         "operator raft _info", "operator raft _logs", "operator raft _state", "operator snapshot state", "context add",
         "context delete", "context list", "context show", "context use", "operator audit verify"}
# What commands need that their help does not say: "{address}" is the server's, "{dir}" the folder.
WORDS = {
    "acl auth-method create": ["-name=m", "-type=JWT", "-token-locality=local", "-max-token-ttl=1h", "-config={{}}"],
    "acl binding-rule create": ["-auth-method=m", "-bind-type=role", "-bind-name=r"],
    "acl role create": ["-name=r", "-policy=p"], "action": ["-job=web", "-group=g", "-task=t", "reload"],
    "job action": ["-job=web", "-group=g", "-task=t", "reload"],
    "job tag apply": ["-name=v1", "web"], "job tag unset": ["-name=v1", "web"], "client-config": ["-servers"], "eval delete": [ID], "exec": [ID, "true"],
    "job restart": ["-on-error=fail", ID], "job revert": [ID, "1"], "job scale": [ID, "1"],
    "migrate check": ["-from={address}"], "migrate copy": ["-from={address}"], "namespace apply": ["dev"],
    "node config": ["-servers"], "node drain": ["-enable", "-yes", ID], "node eligibility": ["-enable", ID],
    "node meta apply": ["a=b"], "node pool apply": ["{dir}/pool.hcl"], "node-drain": ["-enable", "-yes", ID],
    "operator raft remove-peer": ["-peer-id=x"], "operator snapshot save": ["{dir}/new.snap"],
    "quota apply": ["{dir}/quota.hcl"], "var put": ["a/b", "c=d"],
    "volume create": ["{dir}/volume.hcl"], "volume register": ["{dir}/volume.hcl"], "volume snapshot list": ["-plugin=p"]}
# Says by its exit code alone how an agent is; looks at a file without one, too.
EXCUSED = {"check", "job validate", "validate"}
# Show what came as it came.
RAW = {"operator api", "operator metrics", "metrics"}
# Have what they show line by line, or nothing to read but the status.
LINES = RAW | {"monitor", "operator snapshot restore", "var purge"}
# Take what came for a file.
FILES = {"operator snapshot save"}
PAGE = b"<!DOCTYPE html>\n<html>\n<head><title>It works</title></head>\n<body>\n<h1>It works</h1>\n</body>\n</html>\n"


def commands():
    with open(os.path.join(harness.ROOT, "cli", "commands.def")) as f:
        text = f.read()
    names = re.findall(r'^COMMAND\("([^"]+)"', text, re.M)
    for noun in re.findall(r'^KIND\(\w+, "([^"]+)"', text, re.M):
        names += [f"{noun} {verb}" for verb in ("apply", "delete", "info", "list")]
    return sorted(names)


class Silent(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


def serve(answer):
    """A server that gives whoever asks for anything the bytes `answer`, and hangs up."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def handle(self):
            self.connection.settimeout(10)
            try:
                got = b""
                while b"\r\n\r\n" not in got and not got.startswith(b"\x16"):  # the first byte of TLS
                    piece = self.connection.recv(65536)
                    if not piece:
                        return
                    got += piece
                self.connection.sendall(answer)
                self.connection.shutdown(socket.SHUT_WR)
                while self.connection.recv(65536):
                    pass
            except OSError:
                pass
    server = Silent(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def answer(body, kind="application/json", status="200 OK", length=None):
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n".encode() + body


class BadServersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="nomadctl-test-")
        with open(os.path.join(cls.dir, "owner"), "w") as f:
            f.write(f"{os.getpid()} {harness.started_at(os.getpid())}")
        harness.living.add(cls.dir)
        cls.addClassCleanup(harness.clear, cls.dir)
        cls.file = os.path.join(cls.dir, "web.nomad.hcl")
        for name, text in (("web.nomad.hcl", JOB), ("pool.hcl", 'node_pool "p" {}\n'), ("quota.hcl", 'name = "q"\n'), ("volume.hcl", VOLUME)):
            with open(os.path.join(cls.dir, name), "w") as f:
                f.write(text)
        cls.words = {name: cls.words_of(name) for name in commands() if name not in LOCAL}

    @classmethod
    def words_of(cls, name):
        """What stands behind the flags, by the first line of the command's help."""
        if name in WORDS:
            return name.split() + WORDS[name]
        usage = cls.run_command(name.split() + ["-help"], "").stdout.splitlines()[0]
        known = {"path": cls.file, "file": cls.file, "input": cls.file, "job-file": cls.file, "address": "127.0.0.1:4648"}
        usage = re.sub(r"\[[^\]]*\]", "", usage)
        return name.split() + [known.get(word, ID) for word in re.findall(r"<([^>]+)>", usage)]

    @classmethod
    def run_command(cls, words, address, timeout=40, **options):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NOMAD")}
        environment.update(NOMAD_ADDR=address, HOME=cls.dir, XDG_CONFIG_HOME=os.path.join(cls.dir, "config"), PATH="/nowhere")
        return subprocess.run([harness.BINARY, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=cls.dir,
                              env=environment, timeout=timeout, **options)

    def all_at(self, address, step=1):
        """What each command, or every `step`-th, does with the server at `address`, four at a time."""
        def run(name):
            return self.run_command([word.format(address=address, dir=self.dir) if "{" in word and "}" in word[2:] else word
                                     for word in self.words[name]], address)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            runs = {name: pool.submit(run, name) for name in list(self.words)[::step]}
            return {name: run.result() for name, run in runs.items()}

    def expect_failures(self, runs, wanted, excused=()):
        problems = []
        for name, done in runs.items():
            if name in excused or name in EXCUSED:
                continue
            lines = [line for line in done.stderr.splitlines() if line and not line.startswith("WARNING! ")]  # of old names
            if done.returncode not in (1, 2, 255):
                problems.append(f"{name}: exit code {done.returncode}: {done.stdout[:200]!r} {done.stderr[:200]!r}")
            elif not re.search(wanted, done.stderr):
                problems.append(f"{name}: {done.stderr[:300]!r}")
            elif len(lines) > 2:
                problems.append(f"{name}: {len(lines)} lines: {done.stderr[:300]!r}")
        self.assertEqual([], problems, "\n" + "\n".join(problems))

    def test_nobody_is_there(self):
        port = harness.free_port()
        self.expect_failures(self.all_at(f"http://127.0.0.1:{port}"), rf"dial tcp 127.0.0.1:{port}: connect: connection refused")

    def test_none_of_several_is_there(self):
        one, other = harness.free_port(), harness.free_port()
        self.expect_failures(self.all_at(f"http://127.0.0.1:{one},http://127.0.0.1:{other}", 10),
                             rf"none of the addresses can be reached: .*:{one}: .*refused; .*:{other}: .*refused")

    def test_the_address_is_none(self):
        self.expect_failures(self.all_at("localhost:4646"), r'invalid address "localhost:4646": expected http://, https:// or unix://')

    def expect_of(self, sent, wanted, excused=(), step=1):
        server = serve(sent)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.expect_failures(self.all_at(f"http://127.0.0.1:{server.server_port}", step), wanted, excused)

    def test_a_web_server_answers_with_a_page(self):
        page = "a page for browsers, and not of Nomad's API: look at NOMAD_ADDR and -address"
        self.expect_of(answer(PAGE, "text/html; charset=utf-8"), re.escape("the answer is " + page), RAW)
        self.expect_of(answer(PAGE, "text/html", "404 Not Found"), re.escape(f"Unexpected response code: 404 ({page})"), RAW, 5)

    def test_half_an_answer(self):
        self.expect_of(answer(b'[{"ID":"we'), "the answer is no (JSON: byte \\d+: incomplete JSON|archive)", LINES)
        self.expect_of(answer(b'[{"ID":"we', length=4000), "no archive|unexpected EOF|partial message|end of stream|closed", RAW, 5)
        self.expect_of(b"HTTP/1.1 2", "no archive|unexpected EOF|partial message|end of stream|closed|bad", RAW, 5)

    def test_json_that_is_no_answer(self):
        self.expect_of(answer(b'"a string"'), "the answer is not of Nomad's API: is this an agent's address\\?", LINES | FILES)

    def test_nothing_where_there_should_be_something(self):
        server = serve(answer(b""))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        address = f"http://127.0.0.1:{server.server_port}"
        self.expect_failures({name: self.run_command(name.split(), address) for name in (
            "node status", "job status", "namespace list", "agent-info", "server members", "eval list")}, "the answer is no JSON")

    def test_tls_where_there_is_none_and_none_where_it_is(self):
        plain = serve(answer(b"[]"))
        self.addCleanup(plain.server_close)
        self.addCleanup(plain.shutdown)
        self.expect_failures(self.all_at(f"https://127.0.0.1:{plain.server_port}", 5), "tls|TLS|SSL|ssl|version")

    def test_a_reader_that_has_gone_ends_a_command_quietly(self):
        for words in (["-help"], ["version"], ["job", "run", "-help"]):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([harness.BINARY, *words], stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE, timeout=40)
            os.close(writer)
            self.assertIn(done.returncode, (0, 1, -signal.SIGPIPE), words)
            self.assertEqual(b"", done.stderr, words)

    def test_a_terminal_of_three_columns(self):
        server = serve(answer(b'[{"ID":"web","Name":"web","Type":"service","Priority":50,"Status":"running","SubmitTime":1,"JobSummary":{}}]'))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        control, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 2, 3, 0, 0))
        environment = dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{server.server_port}", TERM="xterm")
        process = subprocess.Popen([harness.BINARY, "job", "status"], stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
        os.close(terminal)
        shown = b""
        try:
            while piece := os.read(control, 4096):
                shown += piece
        except OSError:  # the other end is closed
            pass
        os.close(control)
        self.assertEqual(0, process.wait(40))
        self.assertIn(b"running", shown)

    def test_an_interrupt_in_the_middle_ends_a_command(self):
        asked = threading.Event()
        silent = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(silent.close)

        def accept():
            self.held, _ = silent.accept()
            self.held.recv(65536)
            asked.set()
        threading.Thread(target=accept, daemon=True).start()
        environment = dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{silent.getsockname()[1]}")
        process = subprocess.Popen([harness.BINARY, "job", "status"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment)
        self.assertTrue(asked.wait(40))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=40)
        self.held.close()
        self.assertEqual((-signal.SIGINT, b"", b""), (process.returncode, out, err))


if __name__ == "__main__":
    harness.main()
