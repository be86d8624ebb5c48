"""The logs of all allocations of a job as one: over nodes, in order, filtered, followed, by command and by websocket."""
import json
import socket
import threading
import time
import unittest

import cluster
import harness
from harness import shell_job, wait_until
from security.guarded import GuardedAgent


class Follower:
    """Reads a stream of lines in a thread of its own."""

    def __init__(self, port, path, token=""):
        self.frames, self.is_over = [], False
        self.socket = socket.create_connection(("127.0.0.1", port))
        head = f"GET {path} HTTP/1.0\r\nHost: localhost\r\n" + (f"X-Nomad-Token: {token}\r\n" if token else "")
        self.socket.sendall((head + "\r\n").encode())
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        file = self.socket.makefile("rb")
        self.head = b""
        while (line := file.readline()) not in (b"\r\n", b""):
            self.head += line
        for line in file:
            if line.strip():
                self.frames.append(json.loads(line))
        self.is_over = True

    def lines(self):
        return [frame["Line"] for frame in list(self.frames) if "Line" in frame]

    def close(self):
        self.socket.close()


def frames_of(answer):
    return [json.loads(line) for line in answer.body.splitlines()]


def lines_of(answer):
    return [frame["Line"] for frame in frames_of(answer) if "Line" in frame]


class OneAgentTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = GuardedAgent().start()

    @classmethod
    def tearDownClass(cls):
        cls.agent.destroy()

    def run_job(self, name, script, count=1):
        self.agent.register(shell_job(name, script, count=count, kind="batch"))
        self.agent.wait_for_allocs(name, "complete", count)

    def logs(self, job, query=""):
        return self.agent.get(f"/v1/job/{job}/logs{query}")

    def test_lines_have_their_source_and_an_order(self):
        self.run_job("told", "for i in 1 2 3; do date -u +%Y-%m-%dT%H:%M:%S.%NZ; sleep 0.3; done; echo err >&2", 3)
        answer = self.logs("told")
        self.assertEqual(200, answer.status)
        self.assertEqual("application/x-ndjson", answer.headers["Content-Type"])
        frames = [frame for frame in frames_of(answer) if "Line" in frame]
        self.assertEqual(9, len(frames), answer.body)
        self.assertEqual(3, len({frame["AllocID"] for frame in frames}))
        self.assertEqual({"told.group[0]", "told.group[1]", "told.group[2]"}, {frame["AllocName"] for frame in frames})
        self.assertEqual({("task", "stdout", "line")}, {(f["Task"], f["Type"], f["TimeBy"]) for f in frames})
        lines = [frame["Line"] for frame in frames]
        self.assertEqual(sorted(lines), lines, "by the times that the lines say")
        self.assertEqual(["err"] * 3, lines_of(self.logs("told", "?type=stderr")))
        self.assertEqual(12, len(lines_of(self.logs("told", "?type=all"))))
        self.assertEqual([], lines_of(self.logs("told", "?task=other")))

    def test_filters(self):
        self.run_job("filtered", "seq 1 1000")
        self.assertEqual([str(n) for n in range(1, 1001)], lines_of(self.logs("filtered")))
        self.assertEqual(["999", "1000"], lines_of(self.logs("filtered", "?tail=2")))
        self.assertEqual(["77", "177"], lines_of(self.logs("filtered", "?grep=77%24"))[:2])
        self.assertEqual(["877", "977"], lines_of(self.logs("filtered", "?grep=77%24&tail=2")))
        self.assertEqual([], lines_of(self.logs("filtered", "?origin=end")))
        self.assertEqual(1000, len(lines_of(self.logs("filtered", "?since=1h"))))
        self.assertEqual([], lines_of(self.logs("filtered", "?since=2100-01-01T00:00:00Z")))

    def test_mistakes(self):
        self.run_job("plain", "echo x")
        for query, text in (("?grep=(", "grep: error parsing regexp"), ("?since=yesterday", "since must be a duration"),
                            ("?tail=-1", "tail must be a whole number"), ("?tail=9999999", "tail can be 1000000 at most"),
                            ("?type=both", "type must be stdout, stderr or all"), ("?origin=middle", "origin must be"),
                            ("?follow=maybe", "failed to parse follow"), ("?namespace=*", "namespace of the job")):
            answer = self.logs("plain", query)
            self.assertEqual(400, answer.status, (query, answer))
            self.assertIn(text, answer.body)
        self.assertEqual((404, "job not found"), (self.logs("nowhere").status, self.logs("nowhere").body))

    def test_what_tasks_write_is_shown_as_text(self):
        self.run_job("wild", r"printf 'a\033[31m<b>\n\000\377\n'; head -c 100000 /dev/zero | tr '\0' x; echo; echo end")
        lines = lines_of(self.logs("wild"))
        self.assertEqual(["a\033[31m<b>", "\0\ufffd"], lines[:2])
        self.assertEqual(100000, sum(len(line) for line in lines[2:-1]))
        self.assertEqual("end", lines[-1])
        self.assertLessEqual(max(map(len, lines)), 32 * 1024)

    def test_following_goes_on_to_new_allocations_and_ends_with_the_job(self):
        script = "i=0; while :; do echo tick $i; i=$((i+1)); sleep 0.2; done"
        self.agent.register(shell_job("ticks", script, kind="batch"))
        first = self.agent.wait_for_allocs("ticks", "running")[0]
        follower = Follower(self.agent.port, "/v1/job/ticks/logs?follow=true", self.agent.token)
        self.addCleanup(follower.close)
        wait_until(lambda: len(follower.lines()) > 5, what="lines")
        wait_until(lambda: any(frame.get("Live") for frame in follower.frames), what="the mark of what is live")
        self.agent.good("PUT", "/v1/job/ticks/scale", {"Count": 2, "Target": {"Group": "group"}})
        def both():
            return {f["AllocID"] for f in list(follower.frames) if "Line" in f} - {first["ID"]}
        wait_until(both, what="a line of the new allocation")
        self.assertIn("tick 0", [f["Line"] for f in follower.frames if f.get("AllocID") in both()])
        wait_until(lambda: [f for f in list(follower.frames) if "TimeBy" in f][-1]["TimeBy"] == "arrival", what="news")
        self.agent.good("DELETE", "/v1/job/ticks")
        wait_until(lambda: follower.is_over, what="the end of the stream")

    def test_who_may_read_them(self):
        self.run_job("secret", "echo hush")
        self.agent.make_policy("log-reader", 'namespace "default" { capabilities = ["read-logs"] }')
        self.agent.make_policy("job-reader", 'namespace "default" { capabilities = ["read-job"] }')
        reader = self.agent.make_token(Policies=["log-reader"])
        other = self.agent.make_token(Policies=["job-reader"])
        def shown(token):
            return self.agent.get("/v1/job/secret/logs", headers={"X-Nomad-Token": token["SecretID"]})
        self.assertEqual(["hush"], lines_of(shown(reader)))
        self.assertEqual(403, shown(other).status)
        self.agent.register(shell_job("quiet", "echo here; exec sleep 1000"))
        self.agent.wait_for_allocs("quiet", "running")
        follower = Follower(self.agent.port, "/v1/job/quiet/logs?follow=true", reader["SecretID"])
        self.addCleanup(follower.close)
        wait_until(lambda: follower.lines() == ["here"], what="the line")
        self.agent.good("DELETE", f"/v1/acl/token/{reader['AccessorID']}")
        wait_until(lambda: follower.is_over, what="the end of whose token is gone")
        self.assertEqual(["Error"], list(follower.frames[-1]), "it does not look complete")

    def test_a_client_that_does_not_read_holds_up_nobody_and_little_memory(self):
        self.agent.register(shell_job("flood", "while :; do seq 1 10000; done"))
        self.agent.wait_for_allocs("flood", "running")
        def resident():
            with open(f"/proc/{self.agent.process.pid}/status") as f:
                return next(int(line.split()[1]) for line in f if line.startswith("VmRSS")) / 1024
        harness.skip_with_sanitizer(self, self.agent.process.pid)
        lazy = []
        for _ in range(5):
            lazy.append(socket.create_connection(("127.0.0.1", self.agent.port)))
            lazy[-1].sendall(b"GET /v1/job/flood/logs?follow=true HTTP/1.1\r\nHost: localhost\r\nX-Nomad-Token: "
                             + self.agent.token.encode() + b"\r\n\r\n")
        before = resident()
        end = time.monotonic() + 6
        while time.monotonic() < end:
            self.assertEqual(200, self.agent.get("/v1/jobs").status)
            time.sleep(0.2)
        self.assertLess(resident() - before, 60, "MB for five clients that read nothing")
        for each in lazy:
            each.close()
        self.agent.good("DELETE", "/v1/job/flood?purge=true")

    def test_the_command(self):
        self.run_job("shown", "echo one; echo two; echo bad >&2", 2)
        done = self.agent.run("job", "logs", "shown", check=True)
        self.assertEqual(4, len(done.stdout.splitlines()))
        self.assertRegex(done.stdout.splitlines()[0], r"^group\[[01]\] [0-9a-f]{8} task \| one$")
        last = self.agent.run("job", "logs", "-n", "1", "shown", check=True)
        self.assertRegex(last.stdout, r"\A(group\[[01]\] [0-9a-f]{8} task \| two\n){2}\Z", "one of each")
        timed = self.agent.run("job", "logs", "-t", "-grep", "^t", "shown", check=True)
        self.assertRegex(timed.stdout.splitlines()[0], r"^\d{4}-\d\d-\d\dT[\d:.]+Z~ group\[[01]\] [0-9a-f]{8} task \| two$")
        raw = self.agent.run("job", "logs", "-json", "-both", "shown", check=True)
        self.assertEqual(6, len([json.loads(line) for line in raw.stdout.splitlines() if "Line" in json.loads(line)]))
        wrong = self.agent.run("job", "logs", "-grep", "(", "shown")
        self.assertEqual(1, wrong.returncode)
        self.assertIn("Error reading the job's logs: Unexpected response code: 400 (grep: ", wrong.stderr)


class OverNodesTest(cluster.Case):
    count = 3

    def test_logs_of_two_nodes_by_any_agent(self):
        self.put(shell_job("spread", "echo $NOMAD_ALLOC_INDEX; exec sleep 1000", count=4))
        allocs = self.wait_for("spread", "running", 4)
        self.assertEqual(2, len({alloc["NodeID"] for alloc in allocs}), "on both nodes")
        for member in (*self.cluster.servers, *self.cluster.clients):
            def shown(asked=member):
                answer = asked.request("GET", "/v1/job/spread/logs")
                return answer.status == 200 and sorted(lines_of(answer)) == ["0", "1", "2", "3"]
            wait_until(shown, what=f"all lines by {member.name}")

    def test_a_node_that_dies_holds_up_nobody(self):
        self.put(shell_job("spread", "while :; do echo $NOMAD_ALLOC_INDEX; sleep 0.2; done", count=4))
        allocs = self.wait_for("spread", "running", 4)
        follower = Follower(self.server.http, "/v1/job/spread/logs?follow=true")
        self.addCleanup(follower.close)
        wait_until(lambda: set(follower.lines()) == {"0", "1", "2", "3"}, what="lines of all")
        victim = self.cluster.clients[1]
        of_victim = {a["ID"] for a in allocs if a["NodeName"] == victim.name}
        victim.kill9()
        wait_until(lambda: any("Error" in frame and frame["AllocID"] in of_victim for frame in list(follower.frames)),
                   what="what is missing")
        seen = len(follower.lines())
        wait_until(lambda: len(follower.lines()) > seen + 20, what="more lines of the other node")


if __name__ == "__main__":
    harness.main()
