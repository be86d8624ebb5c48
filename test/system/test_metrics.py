"""The metrics of one agent beside those that a Nomad 1.6.5 showed: names, types and labels."""
import os
import re
import unittest
from fnmatch import fnmatch

import harness
from harness import job, shell_job, wait_until

LIST = os.path.join(os.path.dirname(__file__), "..", "monitoring", "nomad_metrics.txt")


def recorded():
    """{name: (type, label sets)} of what must be here, and the patterns of what is not."""
    wanted, absent = {}, []
    with open(LIST) as file:
        for line in file:
            words = line.split("#")[0].split()
            if words and words[0] == "absent":
                absent.append(words[1])
            elif words:
                wanted[words[0]] = (words[1], {"" if one == "-" else one for one in words[2:]})
    return wanted, absent


def families(text):
    """{name: (type, label sets)} of Prometheus' text."""
    found = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            found[name] = (kind, set())
        elif line and not line.startswith("#"):
            name, labels = re.match(r"([a-zA-Z0-9_:]+)(\{.*\})? ", line).groups()
            name = name if name in found else re.sub(r"_(sum|count)$", "", name)
            keys = re.findall(r'([a-z_]+)="', labels or "")
            found[name][1].add(",".join(sorted(set(keys) - {"quantile"})))
    return found


class MetricsTest(harness.AgentTest):
    config = """
telemetry {
  prometheus_metrics         = true
  publish_allocation_metrics = true
  disable_hostname           = true
  collection_interval        = "1s"
}
"""

    def scrape(self):
        return families(self.agent.get("/v1/metrics?format=prometheus").body)

    def test_names_and_labels(self):
        self.agent.register(shell_job("steady", "sleep 1000"))
        self.agent.register(dict(job("parent", kind="batch"), ParameterizedJob={}))
        self.agent.put("/v1/job/parent/dispatch", {})
        self.agent.register(dict(job("hourly", kind="batch"),
                                 Periodic={"Enabled": True, "SpecType": "cron", "Spec": "0 0 1 1 *"}))
        self.agent.put("/v1/job/hourly/periodic/force")
        self.agent.register(job("everywhere", kind="system"))
        self.agent.wait_for_allocs("steady", "running")
        big = job("big")
        big["TaskGroups"][0]["Tasks"][0]["Resources"]["CPU"] = 900_000
        self.agent.register(big)
        everywhere = self.agent.wait_for_allocs("everywhere", "running")[0]
        self.agent.put(f"/v1/allocation/{everywhere['ID']}/stop", {})
        for path in ("/v1/allocations", "/v1/nodes"):
            self.agent.get(path)

        wanted, absent = recorded()

        def lacks():
            shown = self.scrape()
            return {name: (kind, labels, shown.get(name)) for name, (kind, labels) in wanted.items()
                    if name not in shown or shown[name][0] != kind or not labels <= shown[name][1]}

        try:
            wait_until(lambda: not lacks(), timeout=30)
        finally:
            self.assertEqual({}, lacks())
        untrue = [name for name in self.scrape() if any(fnmatch(name, one) for one in absent)]
        self.assertEqual([], untrue, "the list says that they are not here")

    def test_values(self):
        text = self.agent.get("/v1/metrics?format=prometheus").body

        def value(name):
            return float(re.search(rf"(?m)^{name} (\S+)$", text)[1])

        pid = self.agent.process.pid
        self.assertLessEqual(1, value("process_open_fds"))
        self.assertLess(value("process_open_fds"), value("process_max_fds"))
        with open("/proc/stat") as f:
            booted = float(re.search(r"(?m)^btime (\d+)$", f.read())[1])
        begun = booted + float(harness.started_at(pid)) / os.sysconf("SC_CLK_TCK")
        self.assertLess(abs(value("process_start_time_seconds") - begun), 5)
        self.assertLess(1 << 20, value("nomad_runtime_alloc_bytes"))
        self.assertLess(value("nomad_runtime_alloc_bytes"), value("process_virtual_memory_bytes"))
        self.assertEqual(1, value("nomad_nomad_autopilot_healthy"))
        self.assertEqual(1, value("nomad_raft_peers"))
        self.assertEqual(value("nomad_raft_state_leader"), 1)


if __name__ == "__main__":
    harness.main()
