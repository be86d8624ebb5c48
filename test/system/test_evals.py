"""What operators see and delete of evaluations, by command."""
import json
import unittest

import harness
from harness import Agent, job, shell_job, wait_until


class Evaluations(unittest.TestCase):
    def setUp(self):
        self.agent = Agent()
        self.addCleanup(self.agent.destroy)
        self.agent.start()
        self.agent.register(shell_job("steady", "sleep 1000"))
        self.agent.wait_for_allocs("steady", "running")
        for number in range(3):
            self.agent.register(dict(job(f"nowhere-{number}"), Constraints=[
                {"LTarget": "${attr.kernel.name}", "RTarget": "plan9", "Operand": "="}]))
        wait_until(lambda: len(self.evals("blocked")) == 3, what="blocked evaluations")

    def evals(self, status):
        return self.agent.get(f"/v1/evaluations?status={status}").json

    def pause(self, paused):
        self.agent.run("operator", "scheduler", "set-config", f"-pause-eval-broker={str(paused).lower()}", check=True)

    def test_lists(self):
        every = json.loads(self.agent.run("eval", "list", "-json", check=True).stdout)
        self.assertEqual(3, sum(one["Status"] == "blocked" for one in every))
        shown = self.agent.run("eval", "list", "-filter", 'Status == "blocked"', "-t",
                               "{{range .}}{{.JobID}} {{end}}", check=True).stdout
        self.assertEqual({"nowhere-0", "nowhere-1", "nowhere-2"}, set(shown.split()))
        page = ["eval", "list", "-status", "blocked", "-per-page", "2"]
        first = self.agent.run(*page, check=True).stdout
        self.assertEqual(2, first.count("nowhere-"))
        self.assertIn("nomadctl eval list -status blocked -per-page 2 -page-token ", first)
        token = first.split()[-1]
        self.assertEqual(1, self.agent.run(*page, "-page-token", token, check=True).stdout.count("nowhere-"))

    def test_deletes_what_is_safe(self):
        blocked = ["eval", "delete", "-yes", "-filter", 'Status == "blocked"']
        refused = self.agent.run(*blocked)
        self.assertEqual(1, refused.returncode)
        self.assertIn("Eval broker is not paused", refused.stdout + refused.stderr)

        self.pause(True)
        running = self.agent.allocs("steady")[0]["EvalID"]
        refused = self.agent.run("eval", "delete", running)
        self.assertEqual(1, refused.returncode)
        self.assertIn(f"eval {running} is not safe to delete", refused.stderr)

        one = self.evals("blocked")[0]["ID"]
        self.assertEqual("Successfully deleted 1 evaluation\n", self.agent.run("eval", "delete", one, check=True).stdout)
        self.assertEqual(2, self.agent.get("/v1/evaluations/count?filter=Status+%3D%3D+%22blocked%22").json["Count"])
        self.assertEqual("Successfully deleted 2 evaluations\n", self.agent.run(*blocked, check=True).stdout)
        self.assertEqual("No evaluations were deleted\n", self.agent.run(*blocked, check=True).stdout)
        everything = self.agent.run("eval", "delete", "-yes", "-filter", 'ID != ""', check=True).stdout
        self.assertIn("Successfully deleted", everything)
        self.assertEqual([running], [one["ID"] for one in self.agent.get("/v1/evaluations").json])

        self.pause(False)
        self.agent.register(shell_job("after", "sleep 1000"))
        self.agent.wait_for_allocs("after", "running")
        self.assertEqual(1, len(self.agent.allocs("steady")))


if __name__ == "__main__":
    harness.main()
