"""kill -9 of the agent at any moment: tasks go on, the next start finds them, nothing doubles."""
import os
import random
import shutil
import time
import unittest

import harness
from harness import Agent, shell_job, wait_until

TASKS = int(os.environ.get("SURVIVAL_TASKS", "20"))
KILLS = int(os.environ.get("SURVIVAL_KILLS", "3"))


class Survival(unittest.TestCase):
    def setUp(self):
        self.seed = int(os.environ.get("SEED", random.randrange(1 << 32)))
        print(f"seed {self.seed}")
        self.random = random.Random(self.seed)
        self.agent = Agent()
        self.agent.start()

    def tearDown(self):
        self.agent.destroy()

    def pids(self):
        return self.agent.starts("survivor")

    def test_tasks_outlive_the_agent(self):
        script = "echo $$ >> local/pids; n=0; while :; do n=$((n+1)); echo line $n; sleep 0.1; done"
        self.agent.register(shell_job("survivor", script, count=TASKS))
        self.agent.wait_for_allocs("survivor", "running", TASKS, timeout=60)
        before = wait_until(lambda: (lambda p: p if len(p) == TASKS and all(p.values()) else None)(
            self.pids()))
        for _ in range(KILLS):
            time.sleep(self.random.random())
            self.agent.kill9()
            for pids in before.values():
                os.kill(int(pids[0]), 0)
            time.sleep(self.random.random() * 0.5)
            self.agent.start()
        self.agent.wait_for_allocs("survivor", "running", TASKS, timeout=30)
        self.assertEqual(self.pids(), before, "same processes, each started once")
        self.assertEqual(len(self.agent.allocs("survivor")), TASKS)
        for alloc in self.agent.allocs("survivor"):
            self.assertEqual(alloc["TaskStates"]["task"]["Restarts"], 0)
        one = next(iter(before))
        lines = self.agent.run("alloc", "logs", one, check=True).stdout.split("\n")[:-1]
        self.assertEqual(lines, [f"line {n}" for n in range(1, len(lines) + 1)], "no gap in the log")

    def test_killed_while_starting_tasks(self):
        script = "echo $$ >> local/pids; sleep 1000"
        self.agent.register(shell_job("survivor", script, count=TASKS))
        for _ in range(KILLS):
            time.sleep(self.random.random() * 0.2)
            self.agent.kill9()
            self.agent.start()
        self.agent.wait_for_allocs("survivor", "running", TASKS, timeout=60)
        pids = wait_until(lambda: (lambda p: p if len(p) == TASKS and all(p.values()) else None)(
            self.pids()))
        for alloc, started in pids.items():
            self.assertEqual(len(started), 1, f"allocation {alloc} was started {len(started)} times")
            os.kill(int(started[0]), 0)

    def test_what_ended_while_the_agent_was_down_is_known_afterwards(self):
        may_end = os.path.join(self.agent.dir, "may-end")
        script = f"echo $$ > local/pids; while [ ! -e {may_end} ]; do sleep 0.05; done; exit 4"
        self.agent.register(shell_job("ending", script, kind="batch",
                                      RestartPolicy={"Attempts": 0, "Mode": "fail",
                                                     "Interval": 60 * 10**9, "Delay": 10**9},
                                      ReschedulePolicy={"Attempts": 0, "Unlimited": False}))
        alloc = self.agent.wait_for_allocs("ending", "running")[0]["ID"]
        wait_until(lambda: self.agent.starts("ending").get(alloc), what="the task's start")
        pid = self.agent.starts("ending")[alloc][0]
        self.agent.kill9()
        open(may_end, "w", encoding="utf-8").close()
        wait_until(lambda: harness.started_at(pid) is None, what="the task's end")
        self.agent.start()
        self.agent.wait_for_allocs("ending", "failed")
        state = self.agent.get(f"/v1/allocation/{alloc}").json["TaskStates"]["task"]
        self.assertEqual([e["ExitCode"] for e in state["Events"] if e["Type"] == "Terminated"], [4])

    def test_executors_end_when_the_agents_data_are_gone(self):
        may_end = os.path.join(self.agent.dir, "may-end")
        script = "echo $$ > local/pids; while [ $NOMAD_ALLOC_INDEX = 0 -o ! -e %s ]; do sleep 0.05; done" % may_end
        self.agent.register(shell_job("forsaken", script, kind="batch", count=2))
        self.agent.wait_for_allocs("forsaken", "running", 2)
        wait_until(lambda: len([p for p in self.agent.starts("forsaken").values() if p]) == 2)
        tasks = [pids[0] for pids in self.agent.starts("forsaken").values()]
        executors = []
        for pid in tasks:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                executors.append(f.read().rsplit(")", 1)[1].split()[1])
        self.agent.kill9()
        open(may_end, "w", encoding="utf-8").close()
        wait_until(lambda: [harness.started_at(pid) for pid in tasks].count(None) == 1, what="the end of one task")
        self.assertTrue(all(harness.started_at(pid) for pid in executors), "they wait for their agent")
        shutil.rmtree(os.path.join(self.agent.data_dir, "client"))
        wait_until(lambda: not any(harness.started_at(pid) for pid in tasks + executors), timeout=30,
                   what="the end of tasks and executors")

    def test_acknowledged_jobs_survive(self):
        names = []
        for n in range(50):
            self.agent.register(harness.job(f"kept-{n}", count=0))
            names.append(f"kept-{n}")
        self.agent.kill9()
        self.agent.start()
        stored = {j["ID"] for j in self.agent.get("/v1/jobs").json}
        self.assertEqual(stored & set(names), set(names))


if __name__ == "__main__":
    harness.main()
