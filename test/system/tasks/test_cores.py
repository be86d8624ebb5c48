"""`cores`: a task runs on those that it has reserved and no other, all others on what is left, while
allocations come and go and agents are killed."""
import contextlib
import os
import unittest

import harness
from harness import Agent, shell_job, wait_until

HIERARCHIES = "/sys/fs/cgroup"
SLEEP = "echo $$ > $NOMAD_TASK_DIR/pid; echo \"$NOMAD_CPU_CORES\" > $NOMAD_TASK_DIR/cores; sleep 1000"


def allowed(pid):
    """The processors that the kernel lets a process run on: "0-1"."""
    with open(f"/proc/{pid}/status") as f:
        return next(line.split()[1] for line in f if line.startswith("Cpus_allowed_list:"))


def cores_in(listed):
    """0, 1, 2 and 7 for "0-2,7"."""
    found = set()
    for part in filter(None, listed.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


class CoresTest(unittest.TestCase):
    more = ""

    def setUp(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("needs two processors")
        # Agents of other tests share out the processors of the usual group.
        self.parent = f"nomad-test-cores-{os.getpid()}"
        self.agent = Agent(f'client {{\n  cgroup_parent = "{self.parent}"\n{self.more}}}\n').start()
        self.addCleanup(self.clean_up)
        node = self.agent.get("/v1/nodes").json[0]["ID"]
        self.node = self.agent.get(f"/v1/node/{node}").json
        if self.node["Attributes"].get("cgroup.cpuset") != "true":
            self.skipTest("needs a cpuset controller that may be written")
        self.reservable = set(self.node["NodeResources"]["Cpu"]["ReservableCpuCores"])

    def clean_up(self):
        self.agent.destroy()
        for folder, _, _ in os.walk(HIERARCHIES, topdown=False):
            if f"/{self.parent}" in folder:
                with contextlib.suppress(OSError):  # a process of it may be ending
                    os.rmdir(folder)

    def run_task(self, name, cores=0):
        """The process of a job's task, and the cores that it was told."""
        wanted = shell_job(name, SLEEP)
        if cores:
            wanted["TaskGroups"][0]["Tasks"][0]["Resources"] = {"Cores": cores, "MemoryMB": 10}
        self.agent.register(wanted)
        alloc = self.agent.wait_for_allocs(name, "running")[0]["ID"]
        folder = os.path.join(self.agent.data_dir, "alloc", alloc, "task", "local")

        def read(file):
            with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, file)) as f:
                return f.read()
            return ""
        pid = int(wait_until(lambda: read("cores") and read("pid"), what=f"the start of {name}"))
        return pid, cores_in(read("cores").strip())

    def wait_allowed(self, pid, cores):
        try:
            wait_until(lambda: cores_in(allowed(pid)) == cores, timeout=20)
        except AssertionError:
            self.assertEqual(cores, cores_in(allowed(pid)), self.agent.log()[-3000:])

    def stop_job(self, name):
        self.agent.request("DELETE", f"/v1/job/{name}")
        wait_until(lambda: all(a["ClientStatus"] == "complete" for a in self.agent.allocs(name)))


class Cores(CoresTest):
    def test_reserved_cores_are_the_tasks_own_through_deaths_of_the_agent(self):
        sharing, told = self.run_task("sharing")
        self.assertEqual(set(), told)
        self.wait_allowed(sharing, self.reservable)
        pinned, own = self.run_task("pinned", cores=1)
        self.assertEqual(1, len(own))
        rest = self.reservable - own
        self.wait_allowed(pinned, own)
        self.wait_allowed(sharing, rest)
        later, _ = self.run_task("later")
        self.wait_allowed(later, rest)
        beside = self.agent.run("alloc", "exec", "-job", "pinned", "grep", "Cpus_allowed_list", "/proc/self/status")
        self.assertEqual(own, cores_in(beside.stdout.split()[-1]), beside)

        for _ in range(2):
            self.agent.kill9()
            for pid, cores in ((pinned, own), (sharing, rest), (later, rest)):
                self.assertEqual(cores, cores_in(allowed(pid)))
            self.agent.start()
            after, _ = self.run_task("after")
            for pid, cores in ((pinned, own), (sharing, rest), (later, rest), (after, rest)):
                self.wait_allowed(pid, cores)
            self.stop_job("after")

        self.stop_job("pinned")
        for pid in (sharing, later):
            self.wait_allowed(pid, self.reservable)
        again, own = self.run_task("again", cores=1)
        self.wait_allowed(again, own)
        self.wait_allowed(sharing, self.reservable - own)
        self.assertNotIn("[WARN]  client: tasks can't be held", self.agent.log())

    def test_a_task_that_restarts_keeps_its_cores(self):
        pid, own = self.run_task("pinned", cores=1)
        alloc = self.agent.allocs("pinned")[0]["ID"]
        self.assertEqual(200, self.agent.put(f"/v1/client/allocation/{alloc}/restart", {}).status)
        path = os.path.join(self.agent.data_dir, "alloc", alloc, "task", "local", "pid")

        def next_pid():
            with open(path) as f:
                found = f.read().strip()
            return found if found and int(found) != pid else None
        self.wait_allowed(int(wait_until(next_pid, what="the restart")), own)


class KeptFromTasks(CoresTest):
    """Of cores that the node keeps for itself, all but the last."""
    last = max(os.sched_getaffinity(0))
    more = f'  reservable_cores = "{last - 1}-{last}"\n  reserved {{\n    cores = "{last - 1}"\n  }}\n'

    def test_no_task_runs_there_and_who_shares_runs_somewhere_when_all_are_reserved(self):
        self.assertEqual({self.last}, self.reservable)
        sharing, _ = self.run_task("sharing")
        self.wait_allowed(sharing, {self.last})
        pinned, own = self.run_task("pinned", cores=1)
        self.assertEqual({self.last}, own)
        for pid in (sharing, pinned):
            self.wait_allowed(pid, {self.last})


class NotThere(CoresTest):
    """The configuration names a core that the machine does not have."""
    more = '  reservable_cores = "4000"\n'

    def test_a_task_that_gets_it_fails_and_says_why_while_others_run(self):
        sharing, _ = self.run_task("sharing")
        self.assertEqual(os.sched_getaffinity(0), cores_in(allowed(sharing)))
        wanted = shell_job("pinned", SLEEP, RestartPolicy={"Attempts": 0, "Interval": 10 ** 12, "Mode": "fail"})
        wanted["TaskGroups"][0]["Tasks"][0]["Resources"] = {"Cores": 1, "MemoryMB": 10}
        self.agent.register(wanted)
        alloc = self.agent.wait_for_allocs("pinned", "failed")[0]
        events = [event["DisplayMessage"] for event in alloc["TaskStates"]["task"]["Events"]]
        self.assertTrue(any("cpuset.cpus" in text for text in events), events)
        self.assertEqual(1, self.agent.log().count("tasks can't be held to their cores"))


if __name__ == "__main__":
    harness.main()
