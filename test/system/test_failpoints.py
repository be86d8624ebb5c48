"""An agent killed at named places of its own work: whatever was under way, the next one finds the
task, and each task was started once."""
import os
import re
import signal
import unittest

import harness
from harness import Agent, shell_job, wait_until

PLACES = ["client.before_save@3", "client.after_save@3", "client.before_start@1",
          "client.after_start@1", "raft.before_fsync@8", "raft.after_fsync@8", "raft.before_apply@8",
          "raft.after_apply@8"]


@harness.needs_failpoints
class Failpoints(unittest.TestCase):
    def run_at(self, place):
        name, visit = place.split("@")
        agent = Agent()
        try:
            os.environ["NOMAD_FAILPOINTS"] = f"{name}=kill@{visit}"
            try:
                agent.start(wait=False)
            finally:
                del os.environ["NOMAD_FAILPOINTS"]
            self.register_until_it_dies(agent)
            agent.start()
            wait_until(lambda: agent.put("/v1/jobs", {"Job": self.job()}).status == 200, timeout=30)
            agent.wait_for_allocs("one", "running", timeout=30)
            wait_until(lambda: [len(pids) for pids in agent.starts("one").values()] == [1],
                       what="one start of one task")
        finally:
            agent.destroy()

    def job(self):
        return shell_job("one", "echo $$ >> local/pids; sleep 1000")

    def register_until_it_dies(self, agent):
        def is_dead():
            try:
                agent.put("/v1/jobs", {"Job": self.job()}, timeout=2)
            except OSError:
                pass  # it is starting, or has died meanwhile
            return agent.process.poll() is not None
        wait_until(is_dead, interval=0.1, what="the agent's death")
        self.assertEqual(agent.process.returncode, -signal.SIGKILL)


for place in PLACES:
    setattr(Failpoints, "test_at_" + re.sub(r"\W", "_", place), lambda self, place=place: self.run_at(place))

if __name__ == "__main__":
    harness.main()
