"""`job restart`: what happens to allocations and their tasks, batch by batch, and what it asks at a terminal."""
import os
import pty
import re
import select
import signal
import subprocess
import time

import harness
from harness import AgentTest, wait_until

INTERRUPT = "\x03"  # what Ctrl-C sends


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, agent, *words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(harness.BINARY, [harness.BINARY, *words],
                      dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{agent.port}", NO_COLOR="1"))
        self.shown = ""
        self.status = None

    def read(self):
        """Whether there may be more."""
        if not select.select([self.fd], [], [], 0.1)[0]:
            return True
        try:
            piece = os.read(self.fd, 65536)
        except OSError:  # nobody has the terminal open any more
            return False
        self.shown += piece.decode(errors="replace").replace("\r\n", "\n")
        return bool(piece)

    def wait_for(self, text, timeout=60):
        """Until `text` is shown, behind what was waited for before."""
        end = time.monotonic() + timeout
        while text not in self.shown:
            if not self.read() or time.monotonic() > end:
                raise AssertionError(f"the terminal does not show {text!r}: {self.shown}")
        before, _, self.shown = self.shown.partition(text)
        return before + text

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, timeout=60):
        """The exit code, and what was shown since what was waited for."""
        end = time.monotonic() + timeout
        while self.read():
            if time.monotonic() > end:
                raise AssertionError(f"the command does not end: {self.shown}")
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status, self.shown

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def task(name, script, **more):
    return {"Name": name, "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", script]},
            "LogConfig": {"MaxFiles": 2, "MaxFileSizeMB": 2}, "Resources": {"CPU": 5, "MemoryMB": 10}, **more}


class RestartTest(AgentTest):
    """A job has two allocations; in each `task` and `side` run on, and `first` has run to its end."""

    def setUp(self):
        self.job = self._testMethodName.replace("test_", "").replace("_", "-")
        forever = "echo $$ >> local/pids; exec sleep 1000"
        self.register(Tasks=[
            task("task", forever), task("side", forever),
            task("first", "exit 0", Lifecycle={"Hook": "prestart"})])
        # Of their starts they have written when both have a process.
        wait_until(lambda: sum(len(pids) for pids in self.starts().values()) == 4, what="two tasks of two allocations")
        self.before = self.starts()
        self.ids = sorted(self.running())

    def register(self, **group):
        self.agent.register(harness.job(self.job, count=2, **group, Update={"MaxParallel": 0}, RestartPolicy={
            "Attempts": 5, "Interval": 600 * 10**9, "Delay": 10**8, "Mode": "delay"}))
        self.agent.wait_for_allocs(self.job, "running", 2)

    def running(self):
        return [a["ID"] for a in self.agent.allocs(self.job)
                if a["ClientStatus"] == "running" and a["DesiredStatus"] == "run"]

    def starts(self):
        """The processes of the tasks that run on, in their order, by allocation and task."""
        found = {}
        for alloc in self.running():
            for name in ("task", "side"):
                path = os.path.join(self.agent.data_dir, "alloc", alloc, name, "local", "pids")
                if os.path.exists(path):
                    with open(path) as f:
                        found[alloc, name] = f.read().split()
        return found

    def started_once_more(self):
        """Those that have another process than before."""
        return {place for place, pids in self.starts().items() if len(pids) > len(self.before.get(place, []))}

    def everywhere(self, *tasks):
        return {(alloc, name) for alloc in self.ids for name in tasks}

    def restart(self, *flags):
        return self.agent.run("job", "restart", "-on-error=fail", *flags, self.job)

    def at_terminal(self, *flags):
        terminal = Terminal(self.agent, "job", "restart", *flags, self.job)
        self.addCleanup(terminal.close)
        return terminal

    def test_tasks_restart_in_place(self):
        done = self.restart("-batch-size", "1", "-verbose")
        self.assertEqual((0, ""), (done.returncode, done.stderr), done.stdout)
        order = re.findall(r'Restarting running tasks in allocation "(.+)" for group "group"', done.stdout)
        self.assertEqual(self.ids, sorted(order))
        self.assertTrue(done.stdout.endswith("Job restarted successfully!\n"), done.stdout)
        wait_until(lambda: self.started_once_more() == self.everywhere("task", "side"), what="another process of each")
        for place, pids in self.starts().items():
            self.assertEqual(self.before[place], pids[:1])  # one more, and no third
            self.assertEqual(2, len(pids), place)
        self.assertEqual(self.ids, sorted(a["ID"] for a in self.agent.allocs(self.job)))

    def test_a_batch_of_both(self):
        done = self.restart("-batch-size", "100%")
        self.assertEqual(0, done.returncode, done.stdout)
        self.assertIn("Restarting 1st batch of 2 allocations", done.stdout)
        self.assertNotIn("2nd batch", done.stdout)
        wait_until(lambda: self.started_once_more() == self.everywhere("task", "side"), what="another process of each")

    def test_one_task_of_each(self):
        done = self.restart("-task", "side")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertEqual(2, done.stdout.count('Restarting task "side" in allocation'))
        wait_until(lambda: self.started_once_more() == self.everywhere("side"), what="another process of side")
        self.assertEqual(self.ids, sorted(self.running()))

    def test_allocations_are_placed_anew(self):
        done = self.restart("-reschedule", "-verbose")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        replaced = re.findall(r'Allocation "(.+)" replaced by "(.+)", waiting for', done.stdout)
        self.assertEqual(self.ids, sorted(old for old, _ in replaced))
        # Between what runs first and what runs next an allocation is pending once more.
        wait_until(lambda: sorted(self.running()) == sorted(new for _, new in replaced), what="the new ones to run")
        self.assertFalse({new for _, new in replaced} & set(self.ids))
        for old, new in replaced:
            self.assertIn(f'Allocation "{new}" is "running"', done.stdout)
            self.assertEqual(new, self.agent.get(f"/v1/allocation/{old}").json["NextAllocation"])
        wait_until(lambda: all(self.agent.get(f"/v1/allocation/{old}").json["ClientStatus"] == "complete"
                               for old in self.ids), what="the end of the allocations from before")

    def test_a_batch_that_fails_is_the_last(self):
        done = self.restart("-task", "first")  # which runs no more
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertEqual(1, done.stdout.count('Restarting task "first"'), done.stdout)
        self.assertIn("Stopping job restart due to error", done.stdout)
        self.assertIn("Job restart finished with errors", done.stdout)
        self.assertIn("1 error occurred while restarting job:\n* Error restarting allocation", done.stderr)
        self.assertIn('Failed to restart task "first"', done.stderr)
        self.assertEqual(set(), self.started_once_more())

    def test_errors_are_asked_about(self):
        terminal = self.at_terminal("-task", "first")
        shown = terminal.wait_for("Ignore the errors above and proceed with the next batch? [y/N]")
        self.assertIn("1 error occurred while restarting job", shown)
        terminal.type("perhaps\n")
        terminal.wait_for('Invalid answer "perhaps"')
        terminal.wait_for("proceed with the next batch? [y/N]")
        terminal.type("y\n")
        terminal.wait_for("2 errors occurred while restarting job")
        self.assertEqual(1, terminal.end()[0])

        terminal = self.at_terminal("-task", "first")
        terminal.wait_for("proceed with the next batch? [y/N]")
        terminal.type("\n")
        terminal.wait_for("Job restart canceled")
        code, shown = terminal.end()
        self.assertEqual((1, 1), (code, shown.count("1 error occurred")), shown)

    def test_each_batch_is_asked_for(self):
        terminal = self.at_terminal("-batch-wait", "ask")
        terminal.wait_for("Proceed with the next batch? [Y/n/<wait duration>]")
        wait_until(lambda: len(self.started_once_more()) == 2, what="other processes of one allocation")
        terminal.type("1ms\n")
        terminal.wait_for("Proceeding restarts with new wait time of 1ms")
        terminal.wait_for("Job restarted successfully!")
        self.assertEqual(0, terminal.end()[0])
        wait_until(lambda: self.started_once_more() == self.everywhere("task", "side"), what="another process of each")

    def test_an_interrupt_is_asked_about_and_ends_it(self):
        terminal = self.at_terminal("-batch-wait", "1h")
        terminal.wait_for("Waiting 1h0m0s before restarting the next batch")
        terminal.type(INTERRUPT)
        shown = terminal.wait_for("Are you sure you want to stop the restart process? [y/N]")
        self.assertIn("Restart interrupted, no more allocations will be restarted.", shown)
        terminal.type("y\n")
        terminal.wait_for("Canceling job restart process")
        code, shown = terminal.end()
        self.assertEqual(0, code)
        self.assertNotIn("Restarting", shown)
        wait_until(lambda: len(self.started_once_more()) == 2, what="other processes of one allocation")
        self.assertEqual(1, len({alloc for alloc, _ in self.started_once_more()}))

    def test_after_an_interrupt_that_was_not_meant_it_goes_on(self):
        terminal = self.at_terminal("-batch-wait", "1h")
        terminal.wait_for("Waiting 1h0m0s before restarting the next batch")
        terminal.type(INTERRUPT)
        terminal.wait_for("Are you sure you want to stop the restart process? [y/N]")
        terminal.type("n\n")
        terminal.wait_for("Job restarted successfully!")
        self.assertEqual(0, terminal.end()[0])
        wait_until(lambda: self.started_once_more() == self.everywhere("task", "side"), what="another process of each")

    def test_without_a_terminal_an_interrupt_ends_it(self):
        command = subprocess.Popen(
            [harness.BINARY, "job", "restart", "-on-error=fail", "-batch-wait", "1h", self.job],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{self.agent.port}"))
        self.addCleanup(command.stdout.close)
        self.addCleanup(command.kill)
        shown = ""
        while "Waiting 1h0m0s" not in shown:
            line = command.stdout.readline()
            self.assertTrue(line, shown)
            shown += line
        command.send_signal(signal.SIGINT)
        rest = command.communicate(timeout=60)[0]
        self.assertEqual((0, "\nCanceling job restart process\n"), (command.returncode, rest))
        self.assertEqual(1, (shown + rest).count("Restarting running tasks"))


class DeploymentTest(AgentTest):
    def test_nothing_is_restarted_while_a_deployment_runs(self):
        self.agent.register(harness.job("deployed", Update={
            "MaxParallel": 1, "MinHealthyTime": 3600 * 10**9, "HealthyDeadline": 7200 * 10**9,
            "ProgressDeadline": 10800 * 10**9, "HealthCheck": "task_states"}))
        self.agent.wait_for_allocs("deployed", "running")
        deployment = self.agent.get("/v1/job/deployed/deployments").json[0]["ID"]
        done = self.agent.run("job", "restart", "-on-error=fail", "deployed")
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn(f'Deployment "{deployment[:8]}" is "running"', done.stderr)
        self.assertNotIn("Restarting running tasks", done.stdout)


if __name__ == "__main__":
    harness.main()
