"""Agents that die between any two things that they write down, and agents that have lost what they
wrote: no task is left without an owner, and none is started twice. The processes, the executors and
the control groups are asked themselves, not the API."""
import glob
import os
import random
import re
import shutil
import signal
import time
import unittest

import harness
from harness import Agent, shell_job, wait_until
from leftovers import executors_of, groups_of, tasks_of

KILLS = int(os.environ.get("RESTORE_KILLS", "6"))

# In the order of an allocation's life. `before_save` and `after_save` are commits of the database,
# so their visits are the times between any two of them.
SAVES = [f"client.{when}_save@{visit}" for visit in range(1, 10) for when in ("before", "after")]
PLACES = [
    "client.identity_filed@1", "client.assigned@1", "client.assigned@2", "client.task_saved@1",
    "client.before_start@1", "executor.place_made@1", "executor.spawned@1", "executor.start_sent@1",
    "executor.started@1", "client.after_start@1", "client.task_saved@2", "client.reported@1",
    "client.task_saved@4", "client.before_destroy@1", "executor.before_acknowledge@1",
    "executor.purged@1", "client.after_destroy@1", "client.before_erase@1", "client.removed@1",
]
STAYS = "echo $$ >> local/pids; exec sleep 1000"


def faults_of(agent):
    """What is wrong with the tasks of an agent whose tasks all are like STAYS, or over."""
    allocs = agent.get("/v1/allocations").json
    running = {a["ID"] for a in allocs if a["ClientStatus"] == "running" and a["DesiredStatus"] == "run"}
    faults = [f"{a['ID']} is to run and is {a['ClientStatus']}" for a in allocs
              if a["DesiredStatus"] == "run" and a["JobID"].startswith("stays") and a["ID"] not in running]
    tasks, executors = tasks_of(agent), executors_of(agent)
    for alloc in running:
        if len(tasks[alloc]) != 1:
            faults.append(f"{alloc} runs as {tasks[alloc]}")
        if list(executors.values()).count(alloc) != 1:
            faults.append(f"{alloc} has the executors {executors}")
        pids = os.path.join(agent.data_dir, "alloc", alloc, "task", "local", "pids")
        if os.path.exists(pids):  # of those that stay
            with open(pids) as f:
                starts = f.read().split()
            if len(starts) != 1:
                faults.append(f"{alloc} was started as {starts}")
    faults += [f"{alloc} has no owner: {pids}" for alloc, pids in tasks.items() if alloc not in running and pids]
    faults += [f"executor {pid} of {alloc} has no owner" for pid, alloc in executors.items() if alloc not in running]
    known = set(os.listdir(os.path.join(agent.data_dir, "alloc"))) | {a["ID"] for a in allocs}
    return faults + [f"{group} has processes" for group in groups_of(known - running)]


def check_all_owned(case, agent):
    faults = []

    def is_sound():
        faults[:] = faults_of(agent)
        return not faults
    try:
        wait_until(is_sound, timeout=60, interval=0.2)
    except AssertionError:
        case.fail("\n".join(faults))


def start_with(agent, orders):
    os.environ["NOMAD_FAILPOINTS"] = orders
    try:
        agent.start(wait=False)
    finally:
        del os.environ["NOMAD_FAILPOINTS"]


class Load:
    """Jobs that stay, that end by themselves, and that are stopped and forgotten."""

    def __init__(self, agent):
        self.agent = agent
        self.number = 0
        self.staying = []

    def step(self):
        self.number += 1
        name = f"stays-{self.number}"
        self.agent.put("/v1/jobs", {"Job": shell_job(name, STAYS)}, timeout=3)
        self.staying.append(name)
        self.agent.put("/v1/jobs", {"Job": shell_job(f"ends-{self.number}", "exit 0", kind="batch")}, timeout=3)
        if len(self.staying) > 3:
            old = self.staying.pop(0)
            self.agent.request("DELETE", f"/v1/job/{old}?purge=true", timeout=3)
        self.agent.put("/v1/system/gc", timeout=3)

    def until_death(self, patience):
        """False: the agent has survived it."""
        end = time.monotonic() + patience
        while self.agent.process.poll() is None and time.monotonic() < end:
            try:
                self.step()
            except OSError:
                pass  # it is starting, or has died meanwhile
            time.sleep(0.15)
        return self.agent.process.poll() is not None


@harness.needs_failpoints
class KilledBetweenSaves(unittest.TestCase):
    def run_at(self, place):
        name, visit = place.split("@")
        agent = Agent()
        try:
            start_with(agent, f"{name}=kill@{visit}")
            self.assertTrue(Load(agent).until_death(30), f"{place} was not reached")
            self.assertEqual(agent.process.returncode, -signal.SIGKILL)
            agent.start()
            check_all_owned(self, agent)
        finally:
            agent.destroy()


for each in SAVES + PLACES:
    setattr(KilledBetweenSaves, "test_at_" + re.sub(r"\W", "_", each), lambda self, place=each: self.run_at(place))


@harness.needs_failpoints
class KilledAgainAndAgain(unittest.TestCase):
    """RESTORE_KILLS=200 python3 test/system/test_restore.py KilledAgain: one node, many deaths."""

    def test_during_registrations(self):
        seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
        print(f"seed {seed}")
        choice = random.Random(seed)
        agent = Agent()
        load = Load(agent)
        died = 0
        try:
            while died < KILLS:
                name, _ = choice.choice(SAVES + PLACES[1:]).split("@")
                start_with(agent, f"{name}=kill@{choice.randrange(1, 7)}")
                if load.until_death(10):
                    self.assertEqual(agent.process.returncode, -signal.SIGKILL)
                    died += 1
                else:
                    agent.kill9()
                if died % 25 == 0:
                    print(f"{died} deaths, {len(tasks_of(agent))} tasks, {len(executors_of(agent))} executors")
            agent.start()
            check_all_owned(self, agent)
        finally:
            agent.destroy()


class Lost(unittest.TestCase):
    """The local state, or a part of it, is gone or damaged."""

    def setUp(self):
        self.agent = Agent().start()
        self.addCleanup(self.agent.destroy)
        self.client = os.path.join(self.agent.data_dir, "client")
        for number in range(3):
            self.agent.register(shell_job(f"stays-{number}", STAYS))
        for number in range(3):
            self.agent.wait_for_allocs(f"stays-{number}", "running")
        check_all_owned(self, self.agent)
        self.node = self.agent.get("/v1/nodes").json[0]["ID"]
        self.tasks = dict(tasks_of(self.agent))

    def check_same(self):
        self.agent.start()
        wait_until(lambda: len([a for a in self.agent.get("/v1/allocations").json
                                if a["ClientStatus"] == "running"]) >= 3, what="the tasks are running")
        check_all_owned(self, self.agent)
        self.assertEqual([self.node], [n["ID"] for n in self.agent.get("/v1/nodes").json])
        self.assertEqual(self.tasks, dict(tasks_of(self.agent)), "the same processes")

    def kept_copies(self):
        return [os.path.basename(path) for path in glob.glob(os.path.join(self.client, "state.db.corrupt-*"))]

    def test_damaged_database(self):
        for file in ("state.db-wal", "state.db.mark"):
            with self.subTest(file=file):
                self.agent.kill9()
                path = os.path.join(self.client, file)
                with open(path, "r+b") as f:
                    size = os.path.getsize(path)
                    for at in range(size // 3 if size > 10_000 else 0, size, 97):
                        f.seek(at)
                        f.write(b"\xa5")
                before = self.kept_copies()
                self.check_same()
                self.assertGreater(len(self.kept_copies()), len(before))
                self.assertIn("state.db.corrupt-", self.agent.log())
                self.stops_as_asked()

    def stops_as_asked(self):
        """What was taken up again is owned as before: it ends when it should, and what follows runs."""
        name = next(j["ID"] for j in self.agent.get("/v1/jobs").json if j["Status"] == "running")
        alloc = self.agent.allocs(name)[0]["ID"]
        self.agent.request("DELETE", f"/v1/job/{name}")
        wait_until(lambda: not tasks_of(self.agent)[alloc], what="the task's end")
        check_all_owned(self, self.agent)
        self.agent.register(shell_job(name + "-again", STAYS))
        self.agent.wait_for_allocs(name + "-again", "running")
        check_all_owned(self, self.agent)
        self.tasks = dict(tasks_of(self.agent))

    def test_no_database(self):
        self.agent.kill9()
        for path in glob.glob(os.path.join(self.client, "state.db*")):
            os.remove(path)
        self.check_same()

    def test_nobody_wants_them(self):
        """Neither the node nor the servers know of them: they are ended."""
        self.agent.kill9()
        for path in glob.glob(os.path.join(self.client, "state.db*")):
            os.remove(path)
        shutil.rmtree(os.path.join(self.agent.data_dir, "server"))
        self.agent.start()
        wait_until(lambda: not tasks_of(self.agent) and not executors_of(self.agent), what="their end")
        wait_until(lambda: not os.listdir(os.path.join(self.client, "executors")), what="their directories")
        ended = [line for line in self.agent.log().splitlines() if "ending what is left of a task" in line]
        self.assertTrue(ended)
        for line in ended:
            self.assertRegex(line, r"key=\S+\.task\b", "by the name of the executor's directory, which is no task's")
            self.assertNotIn(" task=", line)

    def test_driver_is_gone(self):
        """A node that may not run them any more ends them, and says so."""
        self.agent.kill9()
        with open(self.agent.config_path) as f:
            config = f.read()
        with open(self.agent.config_path, "w") as f:
            f.write(config.replace('client {\n', 'client {\n  options {\n    "driver.denylist" = "raw_exec"\n  }\n'))
        self.agent.start()
        self.agent.wait_for_allocs("stays-0", "failed", timeout=40)
        wait_until(lambda: not tasks_of(self.agent) and not executors_of(self.agent), what="their end")

    def test_machine_went_down(self):
        """Tasks, executors and agent are gone: each task runs again, once, when the servers want it."""
        self.agent.kill9()
        for pid in [*executors_of(self.agent), *sum(self.tasks.values(), [])]:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not executors_of(self.agent) and not tasks_of(self.agent), what="their end")
        self.agent.start()
        wait_until(lambda: sorted(map(len, tasks_of(self.agent).values())) == [1, 1, 1], what="their start")
        self.assertEqual(set(self.tasks), set(tasks_of(self.agent)))
        for alloc in self.tasks:
            events = self.agent.get(f"/v1/allocation/{alloc}").json["TaskStates"]["task"]["Events"]
            self.assertIn("Failed Restoring Task", [e["Type"] for e in events])

    def test_damaged_executor_state(self):
        """Of an executor that has died, too: its task has ended, and is run again."""
        self.agent.kill9()
        pid, alloc = next(iter(executors_of(self.agent).items()))
        os.kill(pid, signal.SIGKILL)
        with open(glob.glob(os.path.join(self.client, "executors", alloc + ".*", "state"))[0], "r+b") as f:
            f.write(b"\xff\xff")
        before = tasks_of(self.agent)[alloc]
        self.agent.start()
        wait_until(lambda: len(tasks_of(self.agent)[alloc]) == 1 and tasks_of(self.agent)[alloc] != before,
                   what="another start")
        self.assertEqual(1, list(executors_of(self.agent).values()).count(alloc))

    def test_deleted_place(self):
        """An executor whose directory is deleted under a living agent."""
        alloc, pids = next(iter(self.tasks.items()))
        shutil.rmtree(glob.glob(os.path.join(self.client, "executors", alloc + ".*"))[0])
        wait_until(lambda: not os.path.exists(f"/proc/{pids[0]}"), what="the task's end")
        wait_until(lambda: len(tasks_of(self.agent)[alloc]) == 1, timeout=40, what="its restart")
        state = self.agent.get(f"/v1/allocation/{alloc}").json["TaskStates"]["task"]
        self.assertIn("its executor's directory was deleted",
                      " ".join(e["DisplayMessage"] for e in state["Events"]))


class BadTasks(unittest.TestCase):
    """What a task can do: the agent, its tools and the other tasks go on."""

    def setUp(self):
        self.agent = Agent().start()
        self.addCleanup(self.agent.destroy)
        self.agent.register(shell_job("stays-0", STAYS))
        self.agent.wait_for_allocs("stays-0", "running")
        self.bystander = dict(tasks_of(self.agent))

    def run_bad(self, script, **group):
        job = shell_job("bad", script, **group)
        job["TaskGroups"][0]["Tasks"][0]["KillTimeout"] = 10**9
        self.agent.register(job)
        alloc = self.agent.wait_for_allocs("bad", "running")[0]["ID"]
        return alloc

    def end(self, alloc):
        self.agent.request("DELETE", "/v1/job/bad")
        wait_until(lambda: not tasks_of(self.agent)[alloc], what="the end of all its processes")
        self.agent.wait_for_allocs("bad", "complete")
        for name, pids in self.bystander.items():
            self.assertEqual(pids, tasks_of(self.agent)[name])
        check_all_owned(self, self.agent)
        return [e["Type"] for e in self.agent.get(f"/v1/allocation/{alloc}").json["TaskStates"]["task"]["Events"]]

    def test_ignores_signals(self):
        alloc = self.run_bad("trap '' INT TERM HUP; while :; do sleep 1; done")
        events = self.end(alloc)
        self.assertEqual(["Killing", "Terminated", "Killed"], events[-3:])

    def test_forks_and_forks(self):
        """Each process leaves the task's session, and is deaf to signals."""
        alloc = self.run_bad("trap '' INT TERM; n=0; "
                             "while :; do [ $n -lt 150 ] && { n=$((n+1)); setsid sleep 1000 & }; sleep 0.01; done")
        wait_until(lambda: len(tasks_of(self.agent)[alloc]) > 100, what="its processes")
        self.end(alloc)

    def test_deletes_its_own_directory(self):
        alloc = self.run_bad("cd /; rm -rf \"${NOMAD_TASK_DIR%/local}\" \"$NOMAD_ALLOC_DIR\" 2>/dev/null; echo gone; "
                             "while :; do echo more; sleep 0.1; done")
        wait_until(lambda: not os.path.exists(os.path.join(self.agent.data_dir, "alloc", alloc, "task", "local")),
                   what="the loss")
        self.agent.kill9()
        self.agent.start()
        wait_until(lambda: self.agent.allocs("bad")[0]["ClientStatus"] in ("running", "pending"))
        self.end(alloc)


if __name__ == "__main__":
    harness.main()
