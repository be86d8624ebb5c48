"""What has passed through an agent leaves nothing behind: short runs of test/bench/churn*.py. How many
operations come in that time is only looked at so far that there were some: with sanitizers on a busy
machine a fifth of what an idle one does."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import churn  # noqa: E402  (the path comes first)
import churn_allocs  # noqa: E402
import harness  # noqa: E402
from harness import Agent, wait_until  # noqa: E402


class Churn(unittest.TestCase):
    def setUp(self):
        self.agent = Agent(churn.CONFIG).start()
        self.addCleanup(self.agent.destroy)

    def empty(self):
        """Ends all jobs, waits until nothing of them is left, and looks what the agent holds."""
        for each in self.agent.get("/v1/jobs").json:
            self.agent.request("DELETE", f"/v1/job/{each['ID']}?purge=true")
        wait_until(lambda: not self.agent.get("/v1/jobs").json, timeout=60, what="the end of all jobs")

        def collected():
            """Of what has ended by now; by itself the agent looks each five minutes."""
            self.agent.put("/v1/system/gc")
            return not self.agent.get("/v1/allocations").json
        wait_until(collected, timeout=60, interval=0.5, what="no allocation")
        return churn.figures(self.agent)

    def test_series_files_and_threads_are_what_they_were(self):
        churn.run(self.agent, 5, rate=20, seed=1)
        before = self.empty()
        done = churn.run(self.agent, 15, rate=20, seed=2, kill_every=0)
        self.assertEqual(0, done.refused)
        self.assertGreater(done.count, 40)
        after = self.empty()
        wait_until(lambda: churn.figures(self.agent)["files"] <= before["files"] + 5, timeout=60,
                   what="the end of abandoned connections")
        # Counters of tasks are shown an interval or two longer than their allocation is there.
        wait_until(lambda: churn.figures(self.agent)["series"] <= before["series"], timeout=60,
                   what="the end of the series of allocations that are gone")
        self.assertLessEqual(after["threads"], before["threads"] + 2)

    def test_a_killed_agent_goes_on(self):
        done = churn.run(self.agent, 10, rate=20, seed=3, kill_every=4)
        self.assertGreater(done.count, 15)
        self.empty()


class Allocations(unittest.TestCase):
    def test_tasks_leave_nothing_although_their_agent_is_killed(self):
        node = churn_allocs.Node()
        self.addCleanup(node.destroy)
        node.start()
        node.end()
        actors = churn_allocs.actors_of(node.agent)
        run = churn_allocs.Churn(node, seed=4, count=40)
        run.run(15, rate=3, kill_every=5)
        self.assertGreater(run.done["updated"], 2)
        self.assertGreater(run.done["killed"], 0)
        self.assertEqual({}, node.end())
        self.assertEqual({}, dict(churn_allocs.actors_of(node.agent) - actors))


if __name__ == "__main__":
    harness.main()
