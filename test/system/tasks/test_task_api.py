"""The sockets by which tasks ask their agent: who gets an answer, whose they are, and how long they stay."""
import contextlib
import os
import socket
import stat
import subprocess
import time
import unittest

import harness
from harness import Agent, AgentTest, shell_job, wait_until
from tasks import unix_http

STRANGER = "12345678-aaaa-bbbb-cccc-1234567890ab"
EVERYWHERE = ["/v1/jobs", "/v1/status/leader", "/v1/agent/health", "/v1/none", "/v1//jobs", "/ui/", "/"]


def socket_of(agent, job):
    alloc = agent.wait_for_allocs(job, "running")[0]["ID"]
    return os.path.join(agent.data_dir, "alloc", alloc, "task/secrets/api.sock")


class TaskApi(AgentTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.agent.register(shell_job("asks", "exec sleep 1000"))
        cls.socket = socket_of(cls.agent, "asks")

    def test_nobody_gets_by_without_a_token(self):
        for path in EVERYWHERE:
            with self.subTest(path=path):
                answer = unix_http.ask(self.socket, path)
                self.assertEqual((401, "Unauthorized"), (answer.status, answer.body))
                answer = unix_http.ask(self.socket, path, STRANGER)
                self.assertEqual((403, "Forbidden"), (answer.status, answer.body))
                answer = unix_http.ask(self.socket, path, "nonsense")
                self.assertEqual((500, "Server error authenticating request"), (answer.status, answer.body))

    def test_it_is_the_task_users_alone(self):
        found = os.stat(self.socket)
        self.assertTrue(stat.S_ISSOCK(found.st_mode))
        self.assertEqual((0o600, os.geteuid()), (stat.S_IMODE(found.st_mode), found.st_uid))

    @unittest.skipUnless(os.geteuid() == 0, "needs another user")
    def test_no_other_user_takes_it_over(self):
        """Wherever he has the directory from: he neither connects, nor sees files, nor puts others in their place."""
        secrets = os.path.dirname(self.socket)
        self.assertEqual((0o700, 0), (stat.S_IMODE(os.stat(secrets).st_mode), os.stat(secrets).st_uid))
        attempts = ["os.listdir('.')", "os.unlink('api.sock')", "open('nomad_token', 'w')", "os.mkdir('.api.sock.new')",
                    "socket.socket(socket.AF_UNIX).connect('api.sock')"]
        script = (f"import os, socket\ndirectory = os.open({secrets!r}, os.O_RDONLY)\nos.setgroups([])\nos.setgid(65534)\n"
                  "os.setuid(65534)\n" + "".join(
                      f"try: os.fchdir(directory); {attempt}; print({attempt!r})\nexcept PermissionError: pass\n"
                      for attempt in attempts))
        done = subprocess.run(["/usr/bin/python3", "-c", script], capture_output=True, text=True, timeout=30)
        self.assertEqual(("", 0), (done.stdout, done.returncode), done.stderr)
        self.assertEqual(401, unix_http.ask(self.socket, "/v1/jobs").status)

    def test_half_requests_hold_up_nobody(self):
        waiting = []
        for number in range(120):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(self.socket)
            self.addCleanup(connection.close)
            connection.sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: ")
            waiting.append(connection)
        with contextlib.suppress(OSError):  # it may be closed before the request is sent
            self.assertEqual(429, unix_http.ask(self.socket, "/v1/jobs").status)
        self.assertEqual(200, self.agent.get("/v1/jobs").status)
        self.agent.register(shell_job("neighbour", "exec sleep 1000"))
        other = socket_of(self.agent, "neighbour")
        self.assertEqual(401, unix_http.ask(other, "/v1/jobs").status)
        for connection in waiting:
            connection.close()

        def has_room():
            with contextlib.suppress(OSError):
                return unix_http.ask(self.socket, "/v1/jobs").status == 401
        wait_until(has_room, what="room for others")

    def test_what_requests_hold_before_their_token_counts_is_bounded(self):
        self.agent.register(shell_job("fills", "exec sleep 1000"))
        path = socket_of(self.agent, "fills")
        head = b"PUT /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 16000000\r\n\r\n"
        opened = []
        for _ in range(5):  # of which two fit
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(30)
            connection.connect(path)
            self.addCleanup(connection.close)
            with contextlib.suppress(OSError):
                connection.sendall(head + b"x" * 15_900_000)
            opened.append(connection)

        def refused(connection):
            connection.settimeout(2)
            with contextlib.suppress(OSError):
                return connection.recv(12) == b"HTTP/1.1 429"
        self.assertEqual(3, sum(1 for connection in opened if refused(connection)))
        self.assertEqual(401, unix_http.ask(path, "/v1/jobs").status)
        for connection in opened:
            connection.close()

    def test_guesses_become_slow_and_those_of_others_do_not(self):
        self.agent.register(shell_job("guesses", "exec sleep 1000"))
        guesses = socket_of(self.agent, "guesses")
        longest = 0
        for number in range(120):  # more than 50 within the same 10 s
            begin = time.monotonic()
            self.assertEqual(403, unix_http.ask(guesses, "/v1/jobs", f"{number:08x}{STRANGER[8:]}").status)
            longest = max(longest, time.monotonic() - begin)
            if longest > 0.9:
                break
        self.assertGreater(longest, 0.9)
        self.assertEqual(401, unix_http.ask(guesses, "/v1/jobs").status)

    def test_it_stays_over_restarts_and_ends_with_its_task(self):
        self.agent.register(shell_job("restarts", "exec sleep 1000"))
        path = socket_of(self.agent, "restarts")
        alloc = self.agent.allocs("restarts")[0]["ID"]
        inode = os.stat(path).st_ino

        def restart(times):
            self.assertEqual(200, self.agent.put(f"/v1/client/allocation/{alloc}/restart", {"TaskName": "task"}).status)

            def is_back():
                state = self.agent.get(f"/v1/allocation/{alloc}").json["TaskStates"]["task"]
                return (state["State"], state["Restarts"]) == ("running", times)
            wait_until(is_back, what=f"restart {times}")
        restart(1)
        self.assertEqual(inode, os.stat(path).st_ino)
        os.unlink(path)  # the task has removed it
        restart(2)
        self.assertEqual(401, unix_http.ask(path, "/v1/jobs").status)
        self.agent.request("DELETE", "/v1/job/restarts")
        wait_until(lambda: not os.path.exists(path), what="the end of the socket")

    def test_its_address_is_in_the_environment_and_commands_use_it(self):
        self.agent.register(shell_job(
            "commands", f"unset NOMAD_ADDR; NOMAD_TOKEN={STRANGER} {harness.BINARY} status > local/out 2>&1;"
                        "echo $NOMAD_UNIX_ADDR > local/address; exec sleep 1000"))
        path = socket_of(self.agent, "commands")
        local = os.path.join(os.path.dirname(os.path.dirname(path)), "local")
        wait_until(lambda: os.path.exists(local + "/address") and open(local + "/address").read())
        self.assertEqual(f"unix://{path}\n", open(local + "/address").read())
        self.assertIn("403 (Forbidden)", open(local + "/out").read())


class Killed(unittest.TestCase):
    def test_the_next_agent_answers_at_the_same_place(self):
        agent = Agent()
        self.addCleanup(agent.destroy)
        agent.start()
        agent.register(shell_job("goes-on", "exec sleep 1000"))
        path = socket_of(agent, "goes-on")
        self.assertEqual(401, unix_http.ask(path, "/v1/jobs").status)
        for _ in range(2):
            agent.kill9()
            with self.assertRaises(ConnectionRefusedError):
                unix_http.ask(path, "/v1/jobs")
            agent.start()

            def answers():
                try:
                    return unix_http.ask(path, "/v1/jobs").status == 401
                except ConnectionRefusedError:
                    return False
            wait_until(answers, what="the socket of the task that was found running")
            states = agent.allocs("goes-on")[0]["TaskStates"]
            self.assertEqual(0, states["task"]["Restarts"])


class WithAccessControl(unittest.TestCase):
    def test_tokens_have_their_own_rights(self):
        agent = Agent("acl {\n  enabled = true\n}\n")
        self.addCleanup(agent.stop)
        agent.start(wait=False)
        wait_until(agent.answers, what="the agent")
        token = wait_until(agent.bootstrap, what="a management token")["SecretID"]
        headers = {"X-Nomad-Token": token}
        registered = agent.put("/v1/jobs", {"Job": shell_job("asks", "exec sleep 1000")}, headers=headers)
        self.assertEqual(200, registered.status, registered)

        def running():
            found = agent.get("/v1/job/asks/allocations", headers=headers)
            return found.status == 200 and [a for a in found.json if a["ClientStatus"] == "running"]
        alloc = wait_until(running, what="the task")[0]["ID"]
        path = os.path.join(agent.data_dir, "alloc", alloc, "task/secrets/api.sock")
        self.assertEqual(200, unix_http.ask(path, "/v1/jobs", token).status)
        self.assertEqual(401, unix_http.ask(path, "/v1/status/leader").status)
        self.assertEqual(403, unix_http.ask(path, "/v1/status/leader", STRANGER).status)
        made = agent.put("/v1/acl/token", {"Type": "client", "Policies": ["none"]}, headers=headers).json["SecretID"]
        self.assertEqual(403, unix_http.ask(path, "/v1/nodes", made).status)
        self.assertEqual(200, unix_http.ask(path, "/v1/status/leader", made).status)
        agent.request("DELETE", "/v1/job/asks?purge=true", headers=headers)


if __name__ == "__main__":
    harness.main()
