"""Ctrl-C of commands that go on until somebody ends them: what follows a log ends well, a capture keeps what it has."""
import glob
import os
import signal
import subprocess
import tempfile
import unittest

import harness
from harness import wait_until


class InterruptTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = harness.Agent("enable_debug = true\n")
        cls.addClassCleanup(cls.agent.destroy)
        cls.agent.start()
        cls.agent.register(harness.shell_job("talks", "while echo word; do sleep 0.1; done"))
        cls.alloc = cls.agent.wait_for_allocs("talks", "running")[0]["ID"]

    def begin(self, *words):
        environment = dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{self.agent.port}")
        process = subprocess.Popen([harness.BINARY, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env=environment, text=True)
        self.addCleanup(process.kill)
        return process

    def test_whoever_follows_a_log_ends_well(self):
        for words in (("alloc", "logs", "-f", self.alloc), ("alloc", "logs", "-f", "-stdout", self.alloc),
                      ("alloc", "logs", "-f", "-job", "-group", "group", "talks"), ("job", "logs", "-f", "talks"),
                      ("alloc", "fs", "-f", self.alloc, "alloc/logs/task.stdout.0")):
            for number in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(" ".join(words), signal=number):
                    process = self.begin(*words)
                    self.assertIn("word", process.stdout.readline())
                    process.send_signal(number)
                    rest = process.communicate(timeout=60)[0]
                    self.assertEqual(0, process.returncode, rest)

    def test_whoever_follows_an_agent_ends_well(self):
        process = self.begin("monitor", "-log-level=TRACE")
        self.agent.get("/v1/jobs")
        self.assertTrue(process.stdout.readline())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(0, process.returncode)

    def test_a_capture_keeps_what_it_has(self):
        with tempfile.TemporaryDirectory() as output:
            process = self.begin("operator", "debug", "-duration=1h", "-interval=1h", f"-output={output}")
            shown = ""
            while "Capture interval 0000" not in shown:
                line = process.stdout.readline()
                self.assertTrue(line, shown)
                shown += line
            process.send_signal(signal.SIGINT)
            shown += process.communicate(timeout=120)[0]
            self.assertEqual(0, process.returncode, shown)
            self.assertIn("Interrupted: what was collected so far is kept\n", shown)
            names = {os.path.basename(path) for path in glob.glob(output + "/**", recursive=True)}
            self.assertLess({"members.json", "agent-self.json"}, names)

    def test_a_second_one_ends_the_capture(self):
        with tempfile.TemporaryDirectory() as output:
            process = self.begin("operator", "debug", "-duration=1h", "-interval=1h", f"-output={output}")
            while "Capture interval" not in process.stdout.readline():
                pass
            os.kill(self.agent.process.pid, signal.SIGSTOP)  # so that its last answers take their time
            try:
                process.send_signal(signal.SIGINT)
                with open(f"/proc/{process.pid}/status") as f:
                    has = f.read()
                self.assertIn("SigCgt", has)
                wait_until(lambda: self.is_set_back(process.pid), what="the first interrupt")
                process.send_signal(signal.SIGINT)
                self.assertEqual(-signal.SIGINT, process.wait(60))
            finally:
                os.kill(self.agent.process.pid, signal.SIGCONT)

    @staticmethod
    def is_set_back(pid):
        """Whether SIGINT is not caught any more."""
        with open(f"/proc/{pid}/status") as f:
            caught = next(int(line.split()[1], 16) for line in f if line.startswith("SigCgt"))
        return not caught & 1 << signal.SIGINT - 1


if __name__ == "__main__":
    harness.main()
