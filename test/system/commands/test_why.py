"""`nomadctl why` on ten broken jobs: docs/why.md has each page as it is printed here, but for ids, times and figures of
the machine. With NOMADCTL_WRITE_DOCS=1 the page is written anew."""
import contextlib
import http.server
import json
import os
import re
import socket
import threading
import unittest

import harness
from harness import wait_until

PAGE = os.path.join(harness.ROOT, "docs", "why.md")


def broken(name, task, group="", job="", kind="batch"):
    """A job file whose task is tried once."""
    return f'''job "{name}" {{
  type = "{kind}"
{job}
  group "g" {{
    restart {{
      attempts = 0
      mode     = "fail"
    }}
    reschedule {{
      attempts  = 0
      unlimited = false
    }}
{group}
    task "t" {{
      driver = "raw_exec"
{task}
    }}
  }}
}}
'''


def shell(script, more=""):
    return f'''      config {{
        command = "/bin/sh"
        args    = ["-c", "{script}"]
      }}
{more}'''


ROLLBACK = '''    update {
      min_healthy_time  = "2s"
      healthy_deadline  = "20s"
      progress_deadline = "30s"
      auto_revert       = true
    }
'''

SERVICE = '''    network {
      port "http" {}
    }
    service {
      name     = "web"
      provider = "nomad"
      port     = "http"
      check {
        name     = "alive"
        type     = "http"
        path     = "/health"
        interval = "1s"
        timeout  = "1s"
      }
    }
'''


class Files(http.server.BaseHTTPRequestHandler):
    """Has nothing."""

    def do_GET(self):
        self.send_error(404)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def normal(text, names):
    """What differs from run to run is made the same."""
    for found, shown in names:
        text = text.replace(found, shown)
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "6f4b0e2a-0000-0000-0000-000000000000", text)
    text = re.sub(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{8}\b|\b\d{8}\b", "6f4b0e2a", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)", "2026-01-02T03:04:05Z", text)
    text = re.sub(r"the node has \d+", "the node has 7800", text)
    return re.sub(r"127\.0\.0\.1:(?!8000)\d+", "127.0.0.1:8080", text)


def pages():
    """What docs/why.md has behind each heading of a broken job, by the job's name."""
    with open(PAGE) as f:
        return dict(re.findall(r"(?s)```\n\$ nomadctl why (?:-\S+ )*(\S+)\n(.*?)```", f.read()))


class WhyTest(harness.AgentTest):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        node = self.agent.get("/v1/nodes").json[0]
        self.names = [(node["Name"], "node1"), (f"127.0.0.1:{self.server.server_port}", "127.0.0.1:8000"),
                      (self.agent.dir, "/tmp/agent"), (self.agent.data_dir, "/var/lib/nomad")]

    def run_file(self, name, text):
        path = os.path.join(self.agent.dir, name + ".hcl")
        with open(path, "w") as f:
            f.write(text)
        return self.agent.run("job", "run", "-detach", path, check=True)

    def page(self, name, *until, flags=()):
        """What `why` prints once it has all of `until` in it."""
        shown = []

        def is_told():
            shown[:] = [self.agent.run("why", *flags, name)]
            return all(part in shown[0].stdout for part in until)

        try:
            wait_until(is_told, timeout=90, what=" and ".join(until))
        except AssertionError as problem:
            raise AssertionError(shown[0].stdout + shown[0].stderr) from problem
        self.assertEqual(2, shown[0].returncode)
        return normal(shown[0].stdout, self.names)

    def compare(self, name, page):
        if os.environ.get("NOMADCTL_WRITE_DOCS"):
            with open(PAGE) as f:
                text = f.read()
            with open(PAGE, "w") as f:
                f.write(re.sub(rf"(?s)(```\n\$ nomadctl why (?:-\S+ )*{name}\n).*?```", lambda m: m[1] + page + "```", text))
        self.assertEqual(pages()[name], page)

    def tell(self, name, text, *until):
        self.run_file(name, text)
        self.compare(name, self.page(name, *until))

    def test_a_command_that_is_not_there(self):
        self.tell("typo", broken("typo", '      config {\n        command = "/usr/bin/pyhton3"\n      }'), "can't be started", "is dead")

    def test_a_program_that_fails(self):
        self.tell("crash", broken("crash", shell("echo reading settings; echo no such setting: color >&2; exit 1")),
                  "Its last lines:", "is dead")

    def test_more_memory_than_there_is(self):
        self.tell("large", broken("large", shell("true", "      resources {\n        memory = 990000\n      }")), "can't be placed")

    def test_a_driver_that_is_not_there(self):
        text = broken("windows", "").replace('driver = "raw_exec"', 'driver = "iis"\n      config {\n        path = "site"\n      }')
        self.tell("windows", text, "can't be placed")

    def test_a_check_that_fails(self):
        answer = r"HTTP/1.1 503 Down\\r\\nContent-Length: 28\\r\\n\\r\\nthe database does not answer"
        program = ("import os, socket; s = socket.create_server(('127.0.0.1', int(os.environ['NOMAD_PORT_http']))); "
                   f"[(c.recv(9999), c.sendall(b'{answer}'), c.close()) for c, _ in iter(s.accept, None)]")
        script = f'exec python3 -c \\"{program}\\"'
        self.tell("sick", broken("sick", shell(script), SERVICE, kind="service"), "status 503")

    def test_a_port_that_is_taken(self):
        held = socket.socket()
        self.addCleanup(held.close)
        held.bind(("127.0.0.1", 0))
        held.listen()
        port = held.getsockname()[1]
        self.names.append((str(port), "8080"))
        program = f"import socket, sys; sys.exit(socket.socket().connect_ex(('127.0.0.1', {port})) or 'bind: Address already in use')"
        script = f'exec python3 -c \\"{program}\\"'
        self.tell("taken", broken("taken", shell(script)), "Address already in use", "is dead")

    def test_a_template_that_waits_for_a_variable(self):
        template = '''      template {
        data        = "{{ with nomadVar \\"nomad/jobs/waiting\\" }}{{ .password }}{{ end }}"
        destination = "local/password"
      }'''
        self.tell("waiting", broken("waiting", shell("true", template)), "waits for what its template needs")

    def test_an_artifact_that_is_not_there(self):
        artifact = f'      artifact {{\n        source = "http://127.0.0.1:{self.server.server_port}/app.tar.gz"\n      }}'
        self.tell("absent", broken("absent", shell("true", artifact)), "does not get its artifact", "is dead")

    def test_a_deployment_that_was_rolled_back(self):
        self.run_file("undone", broken("undone", shell("exec sleep 4343"), ROLLBACK, kind="service"))
        wait_until(lambda: [d["Status"] for d in self.agent.get("/v1/job/undone/deployments").json] == ["successful"],
                   what="the first deployment")
        self.run_file("undone", broken("undone", shell("echo bad >&2; exit 1"), ROLLBACK, kind="service"))
        wait_until(lambda: sorted(d["Status"] for d in self.agent.get("/v1/job/undone/deployments").json)
                   == ["failed", "successful", "successful"], what="the rollback")
        self.compare("undone", self.page("undone", "rolling back to job version"))

    def test_a_quota_that_is_used_up(self):
        for kind, text in (("quota", 'name = "small"\nlimit {\n  region = "global"\n  region_limit {\n    cpu = 100\n    memory = 64\n  }\n}\n'),
                           ("namespace", 'name = "team"\nquota = "small"\n')):
            path = os.path.join(self.agent.dir, kind + ".hcl")
            with open(path, "w") as f:
                f.write(text)
            self.agent.run(kind, "apply", path, check=True)
        text = broken("beyond", shell("true", "      resources {\n        cpu    = 50\n        memory = 128\n      }"),
                      job='  namespace = "team"')
        self.run_file("beyond", text)
        self.compare("beyond", self.page("beyond", "can't be placed", flags=["-namespace=team"]))

    def test_nothing_is_wrong(self):
        self.run_file("fine", broken("fine", shell("exec sleep 4343"), kind="service"))
        self.agent.wait_for_allocs("fine", "running")
        shown = []
        wait_until(lambda: shown.append(self.agent.run("why", "fine")) or "Nothing is wrong." in shown[-1].stdout, what="a job that is well")
        self.assertEqual(0, shown[-1].returncode)
        alloc = self.agent.get("/v1/job/fine/allocations").json[0]["ID"]
        self.assertEqual(0, self.agent.run("why", alloc[:8]).returncode)
        self.assertEqual([], json.loads(self.agent.run("why", "-json", "fine").stdout)["Findings"])


if __name__ == "__main__":
    harness.main()
