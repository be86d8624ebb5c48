"""`alloc exec`: commands beside a task, over a websocket to any agent, and by the command."""
import fcntl
import hashlib
import json
import os
import pty
import select
import signal
import socket
import ssl
import struct
import subprocess
import termios
import threading
import time
import unittest

import cluster
import harness
from harness import shell_job, wait_until
from websocket import BINARY, CLOSE, PING, PONG, TEXT, Ended, Exec, WebSocket, frame

SIZE = 10_000_000
TIOCGPTN = 0x80045430  # the number of a pseudo terminal; Python does not name it


def is_running(marker, besides=None):
    """Whether a process has `marker` among its words; `besides` does not count."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if marker.encode() in f.read().split(b"\0") and int(pid) != besides:
                    return True
        except OSError:
            pass
    return False


def send_all(session, data):
    for at in range(0, len(data), 30_000):
        session.stdin(data[at:at + 30_000])
    session.end_stdin()


class ExecTest(harness.AgentTest):
    """On the agent that runs the task."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.agent.register(shell_job("host", "echo $$ > local/pid; exec sleep 10000"))
        cls.alloc = cls.agent.wait_for_allocs("host", "running")[0]["ID"]

    def open(self, command, **more):
        session = Exec(self.agent.port, self.alloc, command, **more)
        self.addCleanup(session.close)
        self.assertEqual(101, session.status, session.head)
        return session

    def shell(self, script, **more):
        return self.open(["/bin/sh", "-c", script], **more)

    def test_streams_and_the_exit_code(self):
        session = self.shell("echo out; echo err >&2; cat; exit 3")
        self.assertIn("Sec-WebSocket-Accept: ", session.head)
        session.stdin(b"hello\n")
        session.send({})
        session.end_stdin()
        self.assertEqual((b"out\nhello\n", b"err\n", 3, (1000, "")), session.collect())
        with self.assertRaises(Ended):
            session.receive()

    def test_the_frames_are_those_of_nomad(self):
        session = self.open(["/bin/true"])
        frames = [session.receive() for _ in range(4)]
        self.assertEqual({(TEXT, b'{"stdout":{"close":true}}'), (TEXT, b'{"stderr":{"close":true}}')},
                         set(frames[:2]))
        self.assertEqual((TEXT, b'{"exited":true,"result":{}}'), frames[2])
        self.assertEqual((CLOSE, struct.pack(">H", 1000)), frames[3])

    def test_it_runs_in_the_place_of_the_task(self):
        session = self.shell("cat $NOMAD_TASK_DIR/pid; echo $NOMAD_TASK_NAME $NOMAD_ALLOC_ID; pwd; cat /proc/$$/cgroup")
        session.end_stdin()
        out, _, code, _ = session.collect()
        pid, names, where, cgroups = out.decode().split("\n", 3)
        self.assertEqual((0, f"task {self.alloc}", "/"), (code, names, where))
        with open(f"/proc/{pid}/cgroup") as f:
            self.assertEqual(f.read(), cgroups)

    def test_a_terminal(self):
        session = self.shell("test -t 0 && test -t 1 && test -t 2 && echo yes; read x; stty size; exit 4",
                             tty="true")
        session.wait_for(b"yes\r\n")
        session.send({"tty_size": {"height": 33, "width": 99}})
        session.stdin(b"go\n")
        out, err, code, close = session.collect()
        self.assertIn(b"33 99\r\n", out)
        self.assertEqual((b"", 4, (1000, "")), (err, code, close))

    def test_control_c_on_a_terminal(self):
        session = self.shell("trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done", tty="true")
        session.wait_for(b"ready")
        session.stdin(b"\x03")
        out, _, code, _ = session.collect()
        self.assertIn(b"caught", out)
        self.assertEqual(5, code)

    def test_a_signal_is_an_exit_code(self):
        self.assertEqual(128 + signal.SIGKILL, self.shell("kill -9 $$").collect()[2])

    def test_the_handshake_message(self):
        session = self.open(["/bin/echo", "hi"], ws_handshake="true")
        session.send({"version": 1, "auth_token": ""})
        self.assertEqual((b"hi\n", 0), session.collect()[::2])
        session = self.open(["/bin/echo", "hi"], ws_handshake="true")
        session.send({"version": 2})
        self.assertEqual((1008, "unexpected handshake value: 2"), session.collect()[3])

    def test_mistakes_in_the_request_are_http_errors(self):
        marshal = "failed to marshal command into json: "
        for command, text in (("", marshal + "unexpected end of JSON input"),
                              ("x", marshal + "invalid character 'x' looking for beginning of value"),
                              ("{}", marshal + "json: cannot unmarshal object into Go value of type []string")):
            session = Exec(self.agent.port, self.alloc, command)
            self.assertEqual(400, session.status)
            self.assertEqual(text, session.read(len(text)).decode())
            session.close()
        session = Exec(self.agent.port, self.alloc, ["a"], tty="maybe")
        self.assertEqual(400, session.status)
        path = f"/v1/client/allocation/{self.alloc}/exec?command=%5B%22a%22%5D&task=task"
        answer = self.agent.get(path)
        self.assertEqual((400, "13"), (answer.status, answer.headers["Sec-WebSocket-Version"]))
        self.assertIn("'upgrade' token not found in 'Connection' header", answer.body)
        evil = Exec(self.agent.port, self.alloc, ["/bin/true"], headers={"Origin": "http://evil.example"})
        self.assertEqual(403, evil.status)

    def test_what_is_not_there_is_told_by_the_close(self):
        def close_of(command=("/bin/true",), alloc=self.alloc, **more):
            session = Exec(self.agent.port, alloc, list(command), **more)
            self.addCleanup(session.close)
            self.assertEqual(101, session.status)
            return session.collect()[3]
        unknown = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
        self.assertEqual((1008, f'Unknown allocation "{unknown}"'), close_of(alloc=unknown))
        self.assertEqual((1008, "task not found"), close_of(task="nope"))
        self.assertEqual((1008, "must provide task name"), close_of(task=""))
        self.assertEqual((1008, "command is not present"), close_of(command=()))
        for command in ("/no/such/program", "nosuchcommand"):
            code, text = close_of([command])
            self.assertEqual(1008, code)
            self.assertIn("failed to start command", text)

    def test_a_task_that_has_ended(self):
        ended = shell_job("ended", "exit 0", kind="batch")
        self.agent.register(ended)
        alloc = self.agent.wait_for_allocs("ended", "complete")[0]["ID"]
        session = Exec(self.agent.port, alloc, ["/bin/true"])
        self.assertEqual((1008, 'task "task" is not running.'), session.collect()[3])

    def test_two_sessions_of_one_task(self):
        first, second = self.open(["/bin/cat"]), self.open(["/bin/cat"])
        second.stdin(b"two")
        first.stdin(b"one")
        first.wait_for(b"one")
        second.end_stdin()
        self.assertEqual((b"two", 0), second.collect()[::2])
        first.end_stdin()
        self.assertEqual(0, first.collect()[2])

    def test_megabytes_both_ways_with_a_slow_reader(self):
        data = os.urandom(SIZE)
        session = self.open(["/bin/cat"], timeout=120, receive_buffer=65536)
        sender = threading.Thread(target=send_all, args=(session, data))
        sender.start()
        time.sleep(1)  # nobody reads: everything on the way fills up and waits
        out, _, code, close = session.collect(pause=0.0005)
        sender.join()
        self.assertEqual((hashlib.sha256(data).digest(), 0, (1000, "")),
                         (hashlib.sha256(out).digest(), code, close))

    def test_a_session_keeps_little_in_memory(self):
        harness.skip_with_sanitizer(self, self.agent.process.pid)

        def resident():
            with open(f"/proc/{self.agent.process.pid}/statm") as f:
                return int(f.read().split()[1]) * 4096
        before = resident()
        sessions = [self.shell("exec cat /dev/zero", receive_buffer=4096) for _ in range(8)]
        blocked = self.shell("exec sleep 1000")
        blocked.socket.settimeout(1)
        chunk = frame(b'{"stdin":{"data":"' + b"QUJD" * 8000 + b'"}}')
        sent = 0
        try:
            while sent < 50_000_000:
                sent += blocked.socket.send(chunk)
        except TimeoutError:
            pass
        self.assertLess(sent, 50_000_000)  # the command takes nothing, so we must wait
        time.sleep(1)
        self.assertLess(resident() - before, 60_000_000)
        for session in [*sessions, blocked]:
            session.close()

    def test_whoever_goes_takes_the_command_along(self):
        for number, leave in enumerate((lambda s: s.close(),
                                        lambda s: s.send(struct.pack(">H", 1001), first=CLOSE),
                                        lambda s: s.socket.setsockopt(
                                            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                                        or s.close())):
            marker = f"exec-marker-{os.getpid()}-{number}"
            session = self.open(["/bin/sh", "-c", "sleep 1000; :", marker])
            wait_until(lambda m=marker: is_running(m), what="the command")
            leave(session)
            wait_until(lambda m=marker: not is_running(m), what="the end of the command")

    def test_whoever_goes_is_missed_also_while_nobody_reads(self):
        marker = f"exec-marker-{os.getpid()}-blocked"
        session = self.open(["/bin/sh", "-c", "sleep 1000; :", marker], timeout=1)
        chunk = frame(b'{"stdin":{"data":"' + b"QUJD" * 8000 + b'"}}')
        with self.assertRaises(TimeoutError):
            while True:
                session.socket.sendall(chunk)
        self.assertTrue(is_running(marker))
        session.close()
        wait_until(lambda: not is_running(marker), timeout=30, what="the end of the command")

    def test_the_end_of_the_task_ends_its_sessions(self):
        self.agent.register(shell_job("short", "sleep 10000"))
        alloc = self.agent.wait_for_allocs("short", "running")[0]["ID"]
        marker = f"exec-marker-{os.getpid()}-stop"
        session = Exec(self.agent.port, alloc, ["/bin/sh", "-c", "sleep 1000; :", marker])
        wait_until(lambda: is_running(marker), what="the command")
        self.agent.request("DELETE", "/v1/job/short")
        session.collect()
        wait_until(lambda: not is_running(marker), what="the end of the command")

    def test_frames_as_the_rfc_wants_them(self):
        def code_of(raw):
            session = self.open(["/bin/cat"])
            session.socket.sendall(raw)
            return session.collect()[3][0]
        self.assertEqual(1002, code_of(frame(b"{}", masked=False)))
        self.assertEqual(1002, code_of(frame(b"{}", first=0xC1)))
        self.assertEqual(1002, code_of(frame(b"{}", first=0x83)))
        self.assertEqual(1002, code_of(frame(b"{}", first=0x80)))
        self.assertEqual(1002, code_of(frame(b"x" * 126, first=PING)))
        self.assertEqual(1009, code_of(frame(b"x", length=1 << 40)))
        self.assertEqual(1007, code_of(frame(b"\xff")))
        self.assertEqual(1011, code_of(frame(b"garbage")))

        session = self.open(["/bin/cat"])
        session.send(b"hello", first=PING)
        self.assertEqual((PONG, b"hello"), session.receive())
        session.socket.sendall(frame(b'{"stdin":', first=0x01) + frame(b"", first=PONG)
                               + frame(b'{"data":"aGk=",', first=0x00) + frame(b'"close":true}}', first=0x80))
        self.assertEqual((b"hi", 0), session.collect()[::2])
        session = self.open(["/bin/cat"])
        session.send({"stdin": {"close": True}}, first=BINARY)
        self.assertEqual(0, session.collect()[2])

    def test_frames_that_come_with_the_request(self):
        session = self.open(["/bin/cat"], early=frame(b'{"stdin":{"data":"aGk=","close":true}}'))
        self.assertEqual((b"hi", 0), session.collect()[::2])

    def test_other_routes_do_not_upgrade(self):
        for path in ("/v1/jobs", "/v1/agent/self", "/v1/agent/monitor"):
            answer = WebSocket(self.agent.port, path)
            self.assertEqual(200, answer.status)
            self.assertNotIn("Upgrade", answer.head)
            answer.close()


class CommandTest(harness.AgentTest):
    """nomadctl alloc exec."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.agent.register(shell_job("host", "exec sleep 10000"))
        cls.alloc = cls.agent.wait_for_allocs("host", "running")[0]["ID"]

    def test_pipes_and_the_exit_code(self):
        done = self.agent.run("alloc", "exec", self.alloc[:8], "/bin/sh", "-c", "cat; echo oh >&2; exit 7",
                              stdin="hello\n")
        self.assertEqual((7, "hello\n", "oh\n"), (done.returncode, done.stdout, done.stderr))
        done = self.agent.run("exec", "-job", "-i=false", "host", "cat")
        self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr))

    def test_mistakes(self):
        for words, text in ((("-job",), "A job ID is required"), ((), "An allocation ID is required"),
                            (("a", "b"), "Alloc ID must contain at least two characters"),
                            ((self.alloc,), "A command is required"),
                            (("-t", "-i=false", self.alloc, "x"), "-i must be enabled if running with tty"),
                            (("-e", "xy", self.alloc, "x"), "-e requires 'none' or a single character"),
                            (("-task", "nope", self.alloc, "x"), "Could not find task named: nope"),
                            (("aaaaaaaa", "x"), 'No allocation(s) with prefix or id "aaaaaaaa" found'),
                            ((self.alloc, "/no/such"), "failed to exec into task: "),
                            (("-t", self.alloc, "x"), "failed to exec into task: not a terminal")):
            done = self.agent.run("alloc", "exec", *words, stdin="")
            self.assertEqual(1, done.returncode, words)
            self.assertIn(text, done.stderr, words)

    def test_megabytes_through_pipes(self):
        data = os.urandom(SIZE)
        done = subprocess.run([harness.BINARY, "alloc", "exec", self.alloc, "cat"], input=data,
                              capture_output=True, timeout=120,
                              env=dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{self.agent.port}"))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(hashlib.sha256(data).digest(), hashlib.sha256(done.stdout).digest())

    def test_a_signal_ends_it_and_the_command(self):
        marker = f"exec-marker-{os.getpid()}-signal"
        command = subprocess.Popen([harness.BINARY, "alloc", "exec", self.alloc, "/bin/sh", "-c",
                                    "echo ready; sleep 1000; :", marker], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{self.agent.port}"))
        self.assertEqual("ready\n", command.stdout.readline())  # it looks for signals by now
        # The marker is also among our own words.
        self.assertTrue(is_running(marker, besides=command.pid))
        command.send_signal(signal.SIGINT)
        self.assertIn("context canceled", command.communicate(timeout=10)[1])
        self.assertEqual(1, command.returncode)
        wait_until(lambda: not is_running(marker), what="the end of the command")


class Terminal:
    """nomadctl under a pseudo terminal."""

    def __init__(self, agent, *words, size=(24, 80)):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["NOMAD_ADDR"] = f"http://127.0.0.1:{agent.port}"
            os.execv(harness.BINARY, [harness.BINARY, *words])
        self.resize(*size)
        self.output = b""
        self.code = None

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def is_raw(self):
        return not termios.tcgetattr(self.fd)[3] & termios.ICANON

    def type(self, text):
        os.write(self.fd, text)

    def wait_for(self, text, timeout=15):
        end = time.monotonic() + timeout
        while text not in self.output:
            if time.monotonic() > end:
                raise AssertionError(f"{text} did not come: {self.output}")
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    got = os.read(self.fd, 65536)
                except OSError:
                    got = b""
                if not got:
                    raise AssertionError(f"{text} did not come before the end: {self.output}")
                self.output += got
        taken, self.output = self.output.split(text, 1)
        return taken

    def finish(self, timeout=15):
        """The exit code, once all output has been read."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.code is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self.code = os.waitstatus_to_exitcode(status) if pid else None
            has_output = select.select([self.fd], [], [], 0.05)[0]
            if self.code is not None and not has_output:
                return self.code
            if has_output:
                try:
                    self.output += os.read(self.fd, 65536)
                except OSError:
                    if self.code is not None:
                        return self.code
        raise AssertionError(f"the command did not end: {self.output}")

    def close(self):
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class TerminalTest(harness.AgentTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.agent.register(shell_job("host", "exec sleep 10000"))
        cls.alloc = cls.agent.wait_for_allocs("host", "running")[0]["ID"]

    def terminal(self, *words, **more):
        made = Terminal(self.agent, "alloc", "exec", *words, **more)
        self.addCleanup(made.close)
        # Keeps the terminal's settings readable after the command's end.
        number = struct.unpack("I", fcntl.ioctl(made.fd, TIOCGPTN, bytes(4)))[0]
        keeper = os.open(f"/dev/pts/{number}", os.O_RDWR | os.O_NOCTTY)
        self.addCleanup(os.close, keeper)
        return made

    def test_a_session(self):
        sees = "until stty size | grep '^{}$'; do sleep 0.1; done; "  # the size comes behind the command
        terminal = self.terminal(self.alloc, "/bin/sh", "-c",
                                 sees.format("31 91") + "read x; " + sees.format("32 92") + "echo got $x; exit 6",
                                 size=(31, 91))
        terminal.wait_for(b"31 91")
        self.assertTrue(terminal.is_raw())
        terminal.resize(32, 92)
        terminal.type(b"word\r")
        terminal.wait_for(b"32 92")
        terminal.wait_for(b"got word")
        self.assertEqual(6, terminal.finish())
        self.assertFalse(terminal.is_raw())

    def test_control_c_goes_to_the_command(self):
        terminal = self.terminal(self.alloc, "/bin/sh", "-c",
                                 "trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done")
        terminal.wait_for(b"ready")
        terminal.type(b"\x03")
        terminal.wait_for(b"caught")
        self.assertEqual(9, terminal.finish())
        self.assertFalse(terminal.is_raw())

    def test_the_escape_character(self):
        marker = f"exec-marker-{os.getpid()}-escape"
        terminal = self.terminal(self.alloc, "/bin/sh", "-c", "echo ready; cat; :", marker)
        terminal.wait_for(b"ready")
        terminal.type(b"~~a\r")
        terminal.wait_for(b"~a")
        terminal.type(b"~.")
        self.assertEqual(1, terminal.finish())
        self.assertIn(b"Connection closed", terminal.output)
        self.assertFalse(terminal.is_raw())
        wait_until(lambda: not is_running(marker), what="the end of the command")

    def test_every_way_out_leaves_the_terminal_as_it_was(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            terminal = self.terminal(self.alloc, "/bin/sh", "-c", "echo ready; cat")
            terminal.wait_for(b"ready")
            self.assertTrue(terminal.is_raw())
            os.kill(terminal.pid, number)
            self.assertEqual(1, terminal.finish())
            self.assertFalse(terminal.is_raw(), number)
        terminal = self.terminal(self.alloc, "/no/such/program")
        self.assertEqual(1, terminal.finish())
        self.assertFalse(terminal.is_raw())


class ForwardedTest(cluster.Case):
    """Through agents that do not run the task; between them TLS."""
    count = 3
    tls = True

    def setUp(self):
        super().setUp()
        self.put(shell_job("host", "exec sleep 10000", count=2, Constraints=[
            {"Operand": "distinct_hosts", "RTarget": "true"}]))
        self.allocs = self.wait_for("host", "running", 2)
        self.agents = [*self.cluster.servers, *self.cluster.clients]

    def test_every_agent_reaches_every_task(self):
        for agent in self.agents:
            for alloc in self.allocs:
                session = Exec(agent.http, alloc["ID"], ["/bin/sh", "-c", "echo out; echo err >&2; cat; exit 3"],
                               early=frame(b'{"stdin":{"data":"ZWFybHkg"}}'))
                self.assertEqual(101, session.status, agent.name)
                session.stdin(b"late")
                session.end_stdin()
                out, err, code, close = session.collect()
                self.assertEqual((b"out\nearly late", b"err\n", 3, (1000, "")), (out, err, code, close), agent.name)
                with self.assertRaises(Ended):
                    session.receive()

    def test_megabytes_through_two_relays(self):
        alloc = next(a for a in self.allocs if a["NodeName"] == "c1")
        for agent in (self.cluster.clients[0], self.followers[0]):
            data = os.urandom(SIZE)
            session = Exec(agent.http, alloc["ID"], ["/bin/cat"], timeout=120, receive_buffer=65536)
            sender = threading.Thread(target=send_all, args=(session, data))
            sender.start()
            time.sleep(1)
            out, _, code, close = session.collect(pause=0.0002)
            sender.join()
            self.assertEqual((hashlib.sha256(data).digest(), 0, (1000, "")),
                             (hashlib.sha256(out).digest(), code, close), agent.name)

    def test_whoever_goes_takes_the_command_along(self):
        for number, agent in enumerate(self.agents):
            for alloc in self.allocs:
                marker = f"exec-marker-{os.getpid()}-{number}-{alloc['NodeName']}"
                session = Exec(agent.http, alloc["ID"], ["/bin/sh", "-c", "sleep 1000; :", marker])
                wait_until(lambda m=marker: is_running(m), what="the command")
                session.close()
                wait_until(lambda m=marker: not is_running(m), what=f"the end of the command, by {agent.name}")

    def test_an_agent_that_goes_ends_its_sessions(self):
        alloc = next(a for a in self.allocs if a["NodeName"] == "c1")
        asked = self.cluster.clients[0]
        marker = f"exec-marker-{os.getpid()}-relay"
        session = Exec(asked.http, alloc["ID"], ["/bin/sh", "-c", "sleep 1000; :", marker])
        wait_until(lambda: is_running(marker), what="the command")
        asked.kill9()
        wait_until(lambda: not is_running(marker), timeout=40, what="the end of the command")
        session.close()

        session = Exec(self.leader.http, alloc["ID"], ["/bin/sh", "-c", "sleep 1000; :", marker + "-node"])
        wait_until(lambda: is_running(marker + "-node"), what="the command")
        self.cluster.clients[1].kill9()
        with self.assertRaises(Ended):
            while True:
                session.receive()
        wait_until(lambda: not is_running(marker + "-node"), timeout=40, what="the end of the command")

    def test_failures_are_told_by_the_close(self):
        unknown = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
        for agent in self.agents:
            for alloc, task, close in ((unknown, "task", (1008, f'Unknown allocation "{unknown}"')),
                                       (self.allocs[0]["ID"], "nope", (1008, "task not found"))):
                session = Exec(agent.http, alloc, ["/bin/true"], task=task)
                self.assertEqual(101, session.status, agent.name)
                self.assertEqual(close, session.collect()[3], agent.name)
            self.assertEqual(400, Exec(agent.http, unknown, "x").status)
        alloc = next(a for a in self.allocs if a["NodeName"] == "c1")
        self.cluster.clients[1].kill9()
        for agent in [*self.cluster.servers, self.cluster.clients[0]]:
            def close_of(agent=agent):
                session = Exec(agent.http, alloc["ID"], ["/bin/true"])
                return session.collect()[3] if session.status == 101 else session.status
            wait_until(lambda f=close_of: f() == (1008, "No path to node"), timeout=40, what=f"by {agent.name}")

    def test_the_command_through_another_agent(self):
        for agent in self.agents:
            done = agent.run("alloc", "exec", "-i=false", self.allocs[0]["ID"], "/bin/sh", "-c", "echo hi; exit 5")
            self.assertEqual((5, "hi\n", ""), (done.returncode, done.stdout, done.stderr), agent.name)


class SecuredTest(unittest.TestCase):
    """HTTPS with certificates on both sides."""

    def test_websocket_and_command_over_tls(self):
        pki = cluster.Pki()
        self.addCleanup(pki.destroy)
        pki.config("server")
        pki.run("cert", "create", "-cli")
        block = pki.config("server").replace("rpc = true", "rpc = true\n  http = true\n  verify_https_client = true")
        servers = cluster.Cluster(1, blocks=block + """
client {
  enabled           = true
  network_interface = "lo"
}
plugin "raw_exec" {
  config {
    enabled = true
  }
}
""")
        self.addCleanup(servers.destroy)
        server = servers.start().servers[0]
        environment = {**os.environ, "NOMAD_ADDR": f"https://127.0.0.1:{server.http}",
                       "NOMAD_CACERT": f"{pki.dir}/nomad-agent-ca.pem",
                       "NOMAD_CLIENT_CERT": f"{pki.dir}/global-cli-nomad.pem",
                       "NOMAD_CLIENT_KEY": f"{pki.dir}/global-cli-nomad-key.pem"}

        def nomadctl(*words, **more):
            return subprocess.run([harness.BINARY, *words], capture_output=True, timeout=120, env=environment, **more)
        wait_until(lambda: b"ready" in nomadctl("node", "status").stdout, timeout=40, what="the node")
        job_file = os.path.join(pki.dir, "host.nomad.hcl")
        with open(job_file, "w") as f:
            f.write("""
job "host" {
  group "group" {
    task "task" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["10000"]
      }
    }
  }
}
""")
        self.assertEqual(0, nomadctl("job", "run", job_file).returncode)
        data = os.urandom(3_000_000)
        done = nomadctl("alloc", "exec", "-job", "host", "cat", input=data)
        self.assertEqual((0, data), (done.returncode, done.stdout), done.stderr)

        context = ssl.create_default_context(cafile=f"{pki.dir}/nomad-agent-ca.pem")
        context.load_cert_chain(f"{pki.dir}/global-cli-nomad.pem", f"{pki.dir}/global-cli-nomad-key.pem")
        alloc = nomadctl("operator", "api", "/v1/allocations").stdout
        session = Exec(server.http, json.loads(alloc)[0]["ID"], ["/bin/cat"], tls=context)
        session.stdin(data[:200_000])
        session.end_stdin()
        self.assertEqual((data[:200_000], 0), session.collect()[::2])
        nomadctl("job", "stop", "host")


if __name__ == "__main__":
    harness.main()
