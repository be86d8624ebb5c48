"""`nomadctl job explain`: docs/explain.md has each page as it is printed here, but for ids and figures of the machine, and
what it suggests is done. With NOMADCTL_WRITE_DOCS=1 the page is written anew."""
import json
import os
import re

import harness
from harness import wait_until

PAGE = os.path.join(harness.ROOT, "docs", "explain.md")


def job(name, resources="", more="", driver="raw_exec", count=1):
    return f'''job "{name}" {{
  type = "batch"
{more}
  group "g" {{
    count = {count}
    task "t" {{
      driver = "{driver}"
      config {{
        command = "/bin/sleep"
        args    = ["600"]
      }}
{resources}
    }}
  }}
}}
'''


def memory(mib):
    return f"      resources {{\n        cpu    = 10\n        memory = {mib}\n      }}"


PICKY = job("picky", memory(10), '''  constraint {
    attribute = "${meta.rack}"
    value     = "r9"
  }''', driver="iis")


def normal(text, names):
    """What differs from run to run and from machine to machine is made the same."""
    for found, shown in names:
        text = text.replace(found, shown)
    text = re.sub(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{8}\b|\b\d{8}\b", "6f4b0e2a", text)
    text = re.sub(r"asked: \d+ free", "asked: 7800 free", text)
    text = re.sub(r"\d+ MiB less memory \(task \"t\": 990000 -> \d+\)", '982200 MiB less memory (task "t": 990000 -> 7800)', text)
    text = re.sub(r"\b0\.\d{3}\b", "0.123", text)
    # How wide columns are depends on names and figures.
    return re.sub(r"(?m)^(?:Rank|Nodes|\d+) .*$", lambda line: re.sub(r" {2,}", "  ", line[0]), text)


def pages():
    """What docs/explain.md shows, by the arguments of the command."""
    with open(PAGE) as f:
        return dict(re.findall(r"(?s)```\n\$ nomadctl job explain ([^\n]*)\n(.*?)```", f.read()))


class ExplainTest(harness.AgentTest):
    def setUp(self):
        self.node = self.agent.get("/v1/nodes").json[0]
        self.names = [(self.node["Name"], "node1")]

    def run_file(self, name, text):
        path = os.path.join(self.agent.dir, name + ".hcl")
        with open(path, "w") as f:
            f.write(text)
        return self.agent.run("job", "run", "-detach", path, check=True)

    def explain(self, *arguments, code):
        done = self.agent.run("job", "explain", *arguments)
        self.assertEqual((code, ""), (done.returncode, done.stderr), done.stdout)
        return done.stdout

    def compare(self, shown, page):
        page = normal(page, self.names)
        if os.environ.get("NOMADCTL_WRITE_DOCS"):
            with open(PAGE) as f:
                text = f.read()
            with open(PAGE, "w") as f:
                f.write(re.sub(rf"(?s)(```\n\$ nomadctl job explain {re.escape(shown)}\n).*?```", lambda m: m[1] + page + "```", text))
        self.assertEqual(pages()[shown], page)

    def wait_until_blocked(self, name):
        wait_until(lambda: any(one["Status"] == "blocked" for one in self.agent.get(f"/v1/job/{name}/evaluations").json),
                   what=f"a blocked evaluation of {name}")

    def wait_until_running(self, name):
        wait_until(lambda: any(one["ClientStatus"] == "running" for one in self.agent.get(f"/v1/job/{name}/allocations").json),
                   timeout=60, what=f"{name} to run")

    def test_more_memory_than_there_is(self):
        self.run_file("large", job("large", memory(990000)))
        self.wait_until_blocked("large")
        page = self.explain("large", code=2)
        self.compare("large", page)
        self.assertIn("none of 1 node fits: memory, 990000 MiB asked", self.agent.run("job", "status", "large").stdout)

        # With what is suggested it runs.
        left = re.search(r"990000 -> (\d+)\)", page)[1]
        self.run_file("large", job("large", memory(left)))
        self.wait_until_running("large")
        self.agent.run("job", "stop", "-detach", "-purge", "large", check=True)

    def test_a_node_that_is_not_what_is_asked_for(self):
        self.run_file("picky", PICKY)
        self.wait_until_blocked("picky")
        self.compare("picky", self.explain("picky", code=2))
        self.compare("-node=node1 picky", self.explain("-node=" + self.node["Name"], "picky", code=2))
        told = json.loads(self.agent.run("job", "explain", "-json", "picky").stdout)
        self.assertEqual(["constraint", "driver"], [one["Kind"] for one in told["Groups"][0]["Refused"][0]["Reasons"]])
        self.agent.run("job", "stop", "-detach", "-purge", "picky", check=True)

    def test_an_allocation_that_runs(self):
        self.run_file("small", job("small", memory(10)))
        self.wait_until_running("small")
        alloc = self.agent.get("/v1/job/small/allocations").json[0]["ID"]
        self.compare("-alloc=6f4b0e2a small", self.explain("-alloc=" + alloc[:8], "small", code=0))
        self.agent.run("job", "stop", "-detach", "-purge", "small", check=True)

    def test_what_is_done_at_the_node_helps(self):
        self.agent.run("node", "eligibility", "-disable", "-self", check=True)
        self.addCleanup(self.agent.run, "node", "eligibility", "-enable", "-self")
        self.run_file("late", job("late", memory(10)))
        self.wait_until_blocked("late")
        self.assertIn("* the node eligible: " + self.node["Name"] + " would take it", self.explain("late", code=2))
        self.agent.run("node", "eligibility", "-enable", "-self", check=True)
        self.wait_until_running("late")
        self.agent.run("job", "stop", "-detach", "-purge", "late", check=True)

    def test_how_many_more_fit(self):
        self.run_file("counted", job("counted", memory(300)))
        self.wait_until_running("counted")
        told = json.loads(self.agent.run("operator", "capacity", "-json", "counted", check=True).stdout)["Groups"][0]
        self.assertEqual((1, 1, 1), (told["Live"], told["Nodes"], len(told["Largest"])))
        shown = self.agent.run("operator", "capacity", "-verbose", "counted", check=True).stdout
        self.assertRegex(shown, rf"(?m)^g +1 +{told['More']} .* (memory|cpu|disk) \(1\)$")
        self.assertIn(self.node["Name"], shown)
        self.agent.run("job", "stop", "-detach", "-purge", "counted", check=True)

    def test_what_is_not_there(self):
        self.run_file("here", job("here", memory(10)))
        for arguments, said in ((("nowhere",), "nowhere"), (("-group=x", "here"), 'group "x" not found'),
                                (("-node=x", "here"), 'node "x" not found'), (("-alloc=x", "here"), 'allocation "x" not found')):
            done = self.agent.run("job", "explain", *arguments)
            self.assertEqual(1, done.returncode)
            self.assertIn(said, done.stderr)
        self.agent.run("job", "stop", "-detach", "-purge", "here", check=True)


if __name__ == "__main__":
    harness.main()
