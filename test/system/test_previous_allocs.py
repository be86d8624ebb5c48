"""Allocations that replace others: they wait for the end of what they replace, on whichever node that
is, and go on with its ephemeral disk if the job says so."""
import os
import urllib.error
import urllib.request

import cluster
import harness
from harness import shell_job, wait_until

# Each allocation adds a line to what those before it have written, and says when it began and ended.
SCRIPT = """
trap 'sleep 2; date +%s.%N > "$NOMAD_ALLOC_DIR/ended"; exit 0' INT TERM
date +%s.%N > "$NOMAD_ALLOC_DIR/began"
echo "$NOMAD_ALLOC_ID" >> "$NOMAD_TASK_DIR/own"
ln -sf ../data/history "$NOMAD_ALLOC_DIR/data/link"
echo "$NOMAD_ALLOC_ID" >> "$NOMAD_ALLOC_DIR/data/history"
while true; do sleep 0.1; done
"""


class PreviousAllocTest(cluster.Case):
    def job(self, name, node=None, round=1, **disk):
        made = shell_job(name, SCRIPT, EphemeralDisk=dict({"SizeMB": 10}, **disk))
        made["Meta"] = {"round": str(round)}
        if node:
            made["Constraints"] = [{"LTarget": "${node.unique.name}", "RTarget": node, "Operand": "="}]
        made["TaskGroups"][0]["Tasks"][0]["KillTimeout"] = 10_000_000_000
        return made

    def run_round(self, name, **kwargs):
        """Registers the job and waits for its one running allocation, which is none of `before`."""
        before = {a["ID"] for a in self.cluster.allocs(name)}
        self.put(self.job(name, **kwargs))

        def started():
            fresh = [a for a in self.cluster.allocs(name, "running") if a["ID"] not in before]
            # A disk that moved has a history before its task runs.
            return fresh[0] if fresh and fresh[0]["ID"] in self.lines(fresh[0], "alloc/data/history") else None
        return wait_until(started, what=f"another allocation of {name}")

    def read(self, alloc, path):
        answer = self.server.request("GET", f"/v1/client/fs/cat/{alloc['ID']}?path={path}")
        return answer.body if answer.status == 200 else None

    def lines(self, alloc, path):
        return (self.read(alloc, path) or "").split()

    def test_a_replacement_starts_when_the_old_one_has_ended_on_the_same_node(self):
        self.check_order("c0", "c0")

    def test_a_replacement_starts_when_the_old_one_has_ended_elsewhere(self):
        self.check_order("c0", "c1")

    def check_order(self, first_node, second_node):
        first = self.run_round("order", node=first_node)
        second = self.run_round("order", node=second_node, round=2)
        self.assertEqual(second_node, second["NodeName"])
        self.assertEqual([second["ID"]], self.lines(second, "alloc/data/history"))
        self.assertLess(float(self.read(first, "alloc/ended")), float(self.read(second, "alloc/began")))

    def test_a_sticky_disk_stays_with_the_job_on_its_node(self):
        first = self.run_round("sticky", Sticky=True)
        second = self.run_round("sticky", round=2, Sticky=True)
        self.assertEqual(first["NodeName"], second["NodeName"])
        self.assertEqual([first["ID"], second["ID"]], self.lines(second, "alloc/data/history"))
        self.assertEqual([first["ID"], second["ID"]], self.lines(second, "task/local/own"))

    def test_a_migrating_disk_follows_the_job_to_another_node(self):
        first = self.run_round("moves", node="c0", Sticky=True, Migrate=True)
        second = self.run_round("moves", node="c1", round=2, Sticky=True, Migrate=True)
        self.assertEqual(("c0", "c1"), (first["NodeName"], second["NodeName"]))
        self.assertEqual([first["ID"], second["ID"]], self.lines(second, "alloc/data/history"))
        self.assertEqual([first["ID"], second["ID"]], self.lines(second, "task/local/own"))
        root = os.path.join(self.cluster.clients[1].dir, "data", "alloc", second["ID"])
        self.assertEqual("../data/history", os.readlink(f"{root}/alloc/data/link"))
        self.assertFalse(os.path.exists(f"{root}/.predecessor"))

    def test_a_disk_that_cannot_be_had_is_done_without(self):
        first = self.run_round("lost", node="c0", Migrate=True)
        self.cluster.clients[0].kill9()  # It is waited for until the servers give the node up.
        second = self.run_round("lost", node="c1", round=2, Migrate=True)
        self.assertEqual([second["ID"]], self.lines(second, "alloc/data/history"))
        events = self.server.try_get(f"/v1/allocation/{second['ID']}")["TaskStates"]["task"]["Events"]
        said = [e["DisplayMessage"] for e in events if e["Type"] == "Task hook message"]
        self.assertEqual(1, len(said), events)
        self.assertIn(f"the data of allocation {first['ID']} could not be taken over", said[0])

    def test_nobody_gets_a_disk_without_its_token(self):
        first = self.run_round("closed", node="c0", Migrate=True)
        node = self.cluster.clients[0]
        address = f"http://127.0.0.1:{node.http}/v1/client/allocation/{first['ID']}/snapshot"
        for token in ("", "wrong"):
            request = urllib.request.Request(address, headers={"X-Nomad-Token": token})
            with self.assertRaises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request, timeout=10)
            self.assertEqual(403, refused.exception.code)
            refused.exception.close()

    def test_the_network_of_an_allocation_is_always_told(self):
        alloc = self.run_round("network")
        shown = self.server.try_get(f"/v1/allocation/{alloc['ID']}")
        self.assertEqual({"InterfaceName": "", "Address": "", "DNS": None}, shown["NetworkStatus"])


if __name__ == "__main__":
    harness.main()
