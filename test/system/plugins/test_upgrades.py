"""Plugins are upgraded while their tasks run and jobs come: another file by any way that a file changes, another block, and
what can't be used. Numbers of the whole run: PLUGIN_UPGRADES=100 PLUGIN_TASKS=20."""
import os
import signal
import threading
import time

import harness
import test_plugins
from harness import job, wait_until
from test_plugins import Samples

BAD = test_plugins.BAD


class UpgradeTest(test_plugins.DriverTest):
    test_a_nap_ends_and_a_wrong_config_is_refused = test_tasks_outlive_the_plugin_s_process_and_the_agent = None
    test_commands_beside_a_nap = None
    reload = test_plugins.ReloadTest.reload
    configure = test_plugins.ReloadTest.configure

    def start_naps(self, tasks):
        agent = self.start(Samples.library("naps"))
        node = agent.get("/v1/nodes").json[0]["ID"]
        wait_until(lambda: agent.get(f"/v1/node/{node}").json["Drivers"].get("naps", {}).get("Healthy"), what="the driver's health")
        with open(Samples.library("naps"), "rb") as f:
            self.first = f.read()
        self.place = f"{agent.plugin_dir}/naps.so"
        self.nap(agent, "long", "100000s", count=tasks)
        agent.wait_for_allocs("long", "running", tasks, timeout=120)
        self.before = self.awaited_sleepers(agent, tasks)
        return agent

    def version(self, number):
        """Another library, which says another version."""
        return self.first.replace(b"1.0.0", f"1.{number % 10}.{number // 10 % 10}".encode())

    def write(self, path, content):
        with open(path, "wb") as f:
            f.write(content)
        os.chmod(path, 0o755)

    def put(self, agent, number):
        """By one of the ways that files change; what is to be removed after the agent has looked."""
        content, way = self.version(number), number % 5
        old = self.place
        if way == 0:  # cp over the old one
            self.write(old, content)
        elif way == 1:  # mv over it
            self.write(f"{agent.plugin_dir}/.naps.part", content)
            os.rename(f"{agent.plugin_dir}/.naps.part", old)
        elif way == 2:  # the old one is deleted
            os.remove(old)
            self.write(old, content)
        elif way == 3:  # under another name, the old one is deleted
            os.remove(old)
            self.place = f"{agent.plugin_dir}/naps-1.{number}.so"
            self.write(self.place, content)
        else:  # beside the old one
            self.place = f"{agent.plugin_dir}/libnaps.{number}.so"
            self.write(self.place, content)
            return [old]
        return []

    def said(self, agent):
        plugin = self.plugin(agent, "naps")
        return plugin["Status"], plugin["Version"], plugin["Restarts"]

    def undisturbed(self, agent, what):
        self.assertEqual(self.before - self.sleepers(agent), set(), what)  # those of short ones come and go
        for alloc in agent.allocs("long"):
            state = agent.get(f"/v1/allocation/{alloc['ID']}").json["TaskStates"]["task"]
            self.assertEqual((state["State"], state["Restarts"], [e["Type"] for e in state["Events"]][-1]), ("running", 0, "Started"), what)

    def test_upgrades_under_load_disturb_no_task_and_block_no_job(self):
        upgrades, tasks = int(os.environ.get("PLUGIN_UPGRADES", 10)), int(os.environ.get("PLUGIN_TASKS", 4))
        agent = self.start_naps(tasks)
        over, jobs, failures = threading.Event(), [], []

        def load():
            while not over.is_set():
                one = job(f"short-{len(jobs)}", kind="batch")
                one["TaskGroups"][0]["Tasks"][0].update(Driver="naps", Config={"length": "1s"})
                one["TaskGroups"][0]["Tasks"][0]["Resources"] = {"CPU": 20, "MemoryMB": 10}
                one["TaskGroups"][0]["EphemeralDisk"] = {"SizeMB": 10}
                try:
                    agent.register(one)
                except Exception as failure:  # pylint: disable=broad-except
                    failures.append(repr(failure))
                jobs.append(one["ID"])
                over.wait(0.02)

        thread = threading.Thread(target=load)
        thread.start()
        self.addCleanup(lambda: (over.set(), thread.join()))
        slowest = 0
        for number in range(1, upgrades + 1):
            wait_until(lambda: len(jobs) >= 3 * number or failures, what="some more jobs")  # pylint: disable=cell-var-from-loop
            left = self.put(agent, number)
            began = time.monotonic()
            self.reload(agent)
            slowest = max(slowest, time.monotonic() - began)
            self.assertEqual(self.said(agent), ("running", f"1.{number % 10}.{number // 10 % 10}", 0), number)
            for path in left:
                os.remove(path)
            if number % 10 == 0:
                self.undisturbed(agent, f"upgrade {number}")
        over.set()
        thread.join()
        self.undisturbed(agent, "the last upgrade")
        self.assertEqual(failures, [])
        wait_until(lambda: all(a["ClientStatus"] == "complete" for name in jobs for a in agent.allocs(name) or [{"ClientStatus": "none"}]),
                   timeout=120, what="the ends of all that came meanwhile")
        for name in jobs:
            for alloc in agent.allocs(name):
                state = agent.get(f"/v1/allocation/{alloc['ID']}").json["TaskStates"]["task"]
                self.assertEqual((state["Restarts"], state["Failed"]), (0, False), (name, state["Events"]))
        self.assertEqual([e["ID"] for e in agent.get("/v1/evaluations").json if e["Status"] == "blocked"], [])
        self.assertNotIn("begins anew, for a task was not found", agent.log())
        print(f"{upgrades} upgrades beside {tasks} tasks and {len(jobs)} jobs; the slowest took {slowest * 1000:.0f} ms")

    def test_what_is_done_to_the_file_disturbs_nobody_before_sighup(self):
        agent = self.start_naps(2)
        pid = self.plugin(agent, "naps")["PID"]
        self.write(self.place, self.version(7))  # over what runs
        os.truncate(self.place, 100)
        self.nap(agent, "next", "1000s")
        agent.wait_for_allocs("next", "running")
        self.assertEqual(self.plugin(agent, "naps")["PID"], pid)
        os.remove(self.place)
        os.kill(pid, signal.SIGKILL)  # the next process is of the same version
        wait_until(lambda: self.plugin(agent, "naps")["PID"] not in (0, pid), what="the next process")
        self.wait_for(agent, "naps", "running")
        self.assertEqual(self.plugin(agent, "naps")["Version"], "1.0.0")
        self.write(self.place, self.version(7))
        self.reload(agent)
        self.assertEqual(self.said(agent), ("running", "1.7.0", 1))

    def test_what_can_t_be_used_changes_nothing_and_the_way_back_is_the_same(self):
        agent = self.start_naps(2)
        pid = self.plugin(agent, "naps")["PID"]
        with open(f"{BAD}/probe.so", "rb") as f:
            other = f.read()
        for content, why in ((b"no library", "it is no library"), (self.first[:5000], "it is no"), (other, 'it calls itself "probe"')):
            self.write(self.place, content)
            self.reload(agent)
            self.assertIn(why, agent.log())
            self.assertEqual((self.said(agent), self.plugin(agent, "naps")["PID"]), (("running", "1.0.0", 0), pid), why)
        self.write(self.place, self.version(3))
        self.reload(agent)
        self.assertEqual(self.said(agent), ("running", "1.3.0", 0))
        self.write(self.place, self.first)
        self.reload(agent)
        self.assertEqual(self.said(agent), ("running", "1.0.0", 0))
        self.assertEqual(self.sleepers(agent), self.before)
        self.assertLess(len(os.listdir(f"{agent.data_dir}/plugins/.files")), 2, "copies of earlier versions are gone")

    def test_a_block_alone_is_no_crash_of_its_driver(self):
        agent = self.start_naps(2)
        node = agent.get("/v1/nodes").json[0]["ID"]
        for number in range(4):
            with open(agent.config_path) as f:
                text = f.read().split('plugin "naps"')[0]
            with open(agent.config_path, "w") as f:
                f.write(text + 'plugin "naps" {\n  args = ["%d"]\n}\n' % number)
            self.reload(agent)
            self.assertTrue(agent.get(f"/v1/node/{node}").json["Drivers"]["naps"]["Healthy"])
            self.nap(agent, f"next-{number}", "1000s")
            agent.wait_for_allocs(f"next-{number}", "running", timeout=10)
        self.assertEqual(self.said(agent)[2], 0)
        self.assertNotIn("a driver ended; another follows: driver=naps", agent.log())


if __name__ == "__main__":
    harness.main()
