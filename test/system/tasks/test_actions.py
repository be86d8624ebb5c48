"""Actions: commands that a job file has names for, by the websocket of any agent and by the command."""
import json
import unittest
import urllib.parse

import cluster
import harness
from harness import shell_job, wait_until
from websocket import Exec

ACTIONS = [{"Name": "say", "Command": "/bin/sh", "Args": ["-c", "echo $NOMAD_TASK_NAME $NOMAD_ALLOC_ID; cat; exit 3"]},
           {"Name": "lost", "Command": "/no/such/program"}]
UNKNOWN = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"


def job_with_actions(name):
    made = shell_job(name, "exec sleep 10000")
    made["TaskGroups"][0]["Tasks"][0]["Actions"] = ACTIONS
    return made


class Action(Exec):
    """A session of an action."""

    def __init__(self, port, job, action, alloc, task="task", **query):
        query = {"action": action, "allocID": alloc, "task": task, "group": "group", **query}
        super(Exec, self).__init__(port, f"/v1/job/{urllib.parse.quote(job, safe='')}/action?"
                                   + urllib.parse.urlencode(query))


class ActionTest(harness.AgentTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ("host", "other"):
            cls.agent.register(job_with_actions(name))
        cls.alloc = cls.agent.wait_for_allocs("host", "running")[0]["ID"]

    def collect(self, *words, stdin=b"", **more):
        session = Action(self.agent.port, *words, **more)
        self.addCleanup(session.close)
        self.assertEqual(101, session.status, session.head)
        session.stdin(stdin)
        session.end_stdin()
        return session.collect()

    def test_the_command_is_the_job_s(self):
        self.assertEqual((f"task {self.alloc}\nhello".encode(), b"", 3, (1000, "")),
                         self.collect("host", "say", self.alloc, stdin=b"hello"))
        session = Action(self.agent.port, "host", "say", self.alloc, command='["/bin/echo","mine"]')
        session.end_stdin()
        self.assertNotIn(b"mine", session.collect()[0])

    def test_what_is_not_there_is_told_by_the_close(self):
        for words, text in ((("host", "gone", self.alloc), "action gone not found in task task"),
                            (("other", "say", self.alloc), f"job other does not have allocation {self.alloc}"),
                            (("host", "say", UNKNOWN), f'Unknown allocation "{UNKNOWN}"'),
                            (("host", "say", self.alloc, "nope"),
                             f"task nope not found in allocation {self.alloc}")):
            self.assertEqual((1008, text), self.collect(*words)[3])
        self.assertIn("failed to start command", self.collect("host", "lost", self.alloc)[3][1])
        session = Action(self.agent.port, "host", "say", self.alloc, tty="maybe")
        self.assertEqual(400, session.status)
        session = Action(self.agent.port, "host", "", self.alloc)
        self.assertEqual((400, "action is not present"), (session.status, session.read(21).decode()))

    def test_they_are_listed(self):
        self.assertEqual([{"Args": a.get("Args"), "Command": a["Command"], "Name": a["Name"], "TaskGroupName": "group",
                           "TaskName": "task"} for a in ACTIONS], self.agent.get("/v1/job/host/actions").json)
        self.assertEqual((404, "job not found"), (lambda a: (a.status, a.body))(self.agent.get("/v1/job/gone/actions")))

    def test_a_new_action_needs_no_new_task(self):
        made = job_with_actions("grown")
        self.agent.register(made)
        alloc = self.agent.wait_for_allocs("grown", "running")[0]["ID"]
        made["TaskGroups"][0]["Tasks"][0]["Actions"] = [{"Name": "new", "Command": "/bin/echo", "Args": ["hi"]}]
        self.agent.register(made)
        wait_until(lambda: self.collect("grown", "new", alloc)[:3] == (b"hi\n", b"", 0), what="the action")
        self.assertEqual([alloc], [a["ID"] for a in self.agent.allocs("grown")])

    def test_the_command(self):
        for words in (("job", "action", "-job", "host", "-alloc", self.alloc[:8]),
                      ("job", "action", "-job", "hos", "-group", "group", "-task", "task"),
                      ("action", "-job", "host", "-group", "group", "-task", "task")):
            done = self.agent.run(*words, "say", stdin="hello\n")
            self.assertEqual((3, f"task {self.alloc}\nhello\n", ""), (done.returncode, done.stdout, done.stderr), words)
        for words, text in ((("-job", "host"), "An action name is required"),
                            (("say",), "A job ID is required"),
                            (("-job", "host", "say"), "A group name is required if no allocation is provided"),
                            (("-job", "host", "-group", "group", "say"),
                             "A task name is required if no allocation is provided"),
                            (("-job", "host", "-group", "none", "-task", "task", "say"),
                             'No allocations found for group "none" of job "host"'),
                            (("-job", "host", "-alloc", self.alloc, "-t", "-i=false", "say"),
                             "-i must be enabled if running with tty"),
                            (("-job", "host", "-alloc", self.alloc, "gone"),
                             "failed to exec into task: action gone not found in task task")):
            done = self.agent.run("job", "action", *words, stdin="")
            self.assertEqual(1, done.returncode, words)
            self.assertIn(text, done.stderr, words)

    def test_who_may_not_be_in_a_task_is_refused(self):
        agent = harness.Agent(config="acl {\n  enabled = true\n}\n")
        self.addCleanup(agent.destroy)
        agent.start(wait=False)
        agent.token = wait_until(agent.bootstrap, what="the first token")["SecretID"]
        wait_until(agent.is_ready, what="the node")
        agent.register(job_with_actions("host"))
        alloc = agent.wait_for_allocs("host", "running")[0]["ID"]
        tokens = {}
        for name, capabilities in (("reads", ["read-job", "list-jobs"]), ("execs", ["read-job", "alloc-exec"]),
                                   ("node", ["read-job", "alloc-exec", "alloc-node-exec"])):
            rules = f'namespace "default" {{ capabilities = {json.dumps(capabilities)} }}'
            agent.put(f"/v1/acl/policy/{name}", {"Name": name, "Rules": rules})
            tokens[name] = agent.put("/v1/acl/token", {"Type": "client", "Policies": [name]}).json["SecretID"]
        for name, close in (("reads", (1008, "Permission denied")), ("execs", (1008, "Permission denied")),
                            ("node", (1000, ""))):
            session = Action(agent.port, "host", "say", alloc, ws_handshake="true")
            session.send({"version": 1, "auth_token": tokens[name]})
            session.end_stdin()
            self.assertEqual(close, session.collect()[3], name)


class FarTest(unittest.TestCase):
    def test_any_agent_brings_one_to_its_node(self):
        servers = cluster.Cluster(1).start()
        self.addCleanup(servers.destroy)
        client = servers.add_client()
        self.assertEqual(200, servers.leader().request("PUT", "/v1/jobs", {"Job": job_with_actions("host")}).status)
        alloc = wait_until(lambda: servers.allocs("host", "running"), what="the task")[0]["ID"]
        for port in (servers.servers[0].http, client.http):
            session = Action(port, "host", "say", alloc)
            session.end_stdin()
            self.assertEqual((f"task {alloc}\n".encode(), 3), session.collect()[::2])


if __name__ == "__main__":
    harness.main()
