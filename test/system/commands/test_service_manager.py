"""An agent under systemd says when it is ready, reads its configuration anew, lives and stops; its tasks know nothing of it."""
import signal
import unittest

import harness
from harness import ServiceManager, shell_job


class ServiceManagerTest(unittest.TestCase):
    def start(self, watchdog=None):
        agent = harness.Agent()
        self.addCleanup(agent.destroy)
        systemd = ServiceManager(agent.dir, watchdog)
        self.addCleanup(systemd.close)
        agent.environment = systemd.environment
        agent.start()
        return agent, systemd

    def test_each_step_is_told(self):
        agent, systemd = self.start()
        first = systemd.next()
        self.assertEqual("1", first["READY"])
        self.assertEqual(f"server and client; HTTP at 127.0.0.1:{agent.port}", first["STATUS"])

        agent.process.send_signal(signal.SIGHUP)
        reloading = systemd.next()
        self.assertEqual("1", reloading["RELOADING"])
        self.assertGreater(int(reloading["MONOTONIC_USEC"]), 0)
        self.assertEqual(first, systemd.next())

        agent.process.send_signal(signal.SIGINT)
        self.assertEqual({"STOPPING": "1", "STATUS": "stopping"}, systemd.next())
        self.assertEqual(0, agent.process.wait(60))
        self.assertIsNone(systemd.next(timeout=0.01))

    def test_an_agent_that_lives_says_so_and_one_that_is_halted_does_not(self):
        agent, systemd = self.start(watchdog=0.6)
        for _ in range(3):
            self.assertEqual("1", systemd.wait_for("WATCHDOG")["WATCHDOG"])
        agent.process.send_signal(signal.SIGSTOP)
        while systemd.next(timeout=0.01):
            pass
        self.assertIsNone(systemd.next(timeout=1.5))
        agent.process.send_signal(signal.SIGCONT)
        systemd.wait_for("WATCHDOG")

    def test_tasks_are_not_the_service(self):
        agent, _ = self.start(watchdog=60)
        agent.register(shell_job("env", "env >local/env; echo $$ >>local/pids; exec sleep 1000"))
        agent.wait_for_allocs("env", "running")
        harness.wait_until(lambda: agent.starts("env"))
        pid = next(iter(agent.starts("env").values()))[0]
        with open(f"/proc/{pid}/environ") as f:
            task = f.read()
        with open(f"/proc/{pid}/stat") as f:
            parent = f.read().rsplit(")", 1)[1].split()[1]
        with open(f"/proc/{parent}/environ") as f:
            executor = f.read()
        for text in (task, executor):
            self.assertNotIn("NOTIFY_SOCKET", text)
            self.assertNotIn("WATCHDOG", text)


if __name__ == "__main__":
    harness.main()
