"""Templates by the real program: files and tasks that follow a service and a variable, what is told while
something is missing, what goes on when the agent is killed, and what is refused."""
import glob
import os
import time

import harness
from harness import Agent, AgentTest, job, wait_until

# A task that writes down what it hears: a line "start ENVIRONMENT", then "hup" for each signal.
LISTENER = """
echo "start $COLOR" >> local/heard
trap 'echo hup >> local/heard' HUP
while true; do sleep 0.05 & wait $!; done
"""
AT_ONCE = {"Min": 0, "Max": 0}
SECOND = 1_000_000_000


def template(data, destination="local/app.conf", mode="restart", **more):
    return dict({"EmbeddedTmpl": data, "DestPath": destination, "ChangeMode": mode, "Splay": 0, "Wait": AT_ONCE}, **more)


def port_of(path):
    return 'port={{ with nomadVar "%s" }}{{ .port }}{{ end }}' % path


def task(name, templates, script=LISTENER, driver="raw_exec", **more):
    config = {"command": "/bin/sh", "args": ["-c", script]} if driver != "mock_driver" else {"run_for": "1h"}
    return dict({"Name": name, "Driver": driver, "Config": config, "Templates": templates, "KillTimeout": SECOND,
                 "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1}, "Resources": {"CPU": 5, "MemoryMB": 10}}, **more)


def group_of(name, tasks, count=1, **group):
    made = job(name, count=count, **group)
    made["TaskGroups"][0]["Tasks"] = tasks
    made["TaskGroups"][0]["EphemeralDisk"] = {"SizeMB": 10 * max(1, len(tasks))}
    made["TaskGroups"][0]["RestartPolicy"] = {"Attempts": 1, "Interval": 1800 * SECOND, "Delay": SECOND // 4, "Mode": "fail"}
    return made


class Templates(AgentTest):
    def put(self, path, **items):
        answer = self.agent.put(f"/v1/var/{path}", {"Items": items})
        self.assertEqual(200, answer.status, answer)

    def place(self, name, task="task"):
        return os.path.join(self.agent.data_dir, "alloc", self.agent.allocs(name)[0]["ID"], task)

    def read(self, name, file="local/app.conf", task="task"):
        try:
            with open(os.path.join(self.place(name, task), file)) as f:
                return f.read()
        except (FileNotFoundError, IndexError):
            return None

    def heard(self, name, task="task"):
        return (self.read(name, "local/heard", task) or "").splitlines()

    def events(self, name, type=None, task="task"):
        allocs = self.agent.allocs(name)
        states = allocs[0]["TaskStates"] if allocs else None
        found = (states or {}).get(task, {}).get("Events") or []
        return [event["DisplayMessage"] for event in found if type in (None, event["Type"])]

    def wait_for(self, value, wanted, what="the file"):
        try:
            wait_until(lambda: value() == wanted, timeout=30, what=what)
        except AssertionError:
            self.assertEqual(wanted, value(), self.agent.log()[-3000:])

    def run_job(self, made, status="running"):
        self.agent.register(made)
        return self.agent.wait_for_allocs(made["ID"], status)


class ThreeTasks(Templates):
    def test_a_change_reaches_file_signal_and_environment(self):
        self.put("app/three", port="80", color="red")
        both = port_of("app/three") + '{{ range nomadService "back" }} {{ .Address }}:{{ .Port }}{{ end }}'
        env = template('COLOR={{ with nomadVar "app/three" }}{{ .color }}{{ end }}\n', "secrets/env", Envvars=True)
        self.run_job(group_of("three", [
            task("signalled", [template(both, mode="signal", ChangeSignal="SIGHUP")]),
            task("restarted", [template(both)]),
            task("ambient", [env])]))
        self.wait_for(lambda: self.heard("three", "ambient"), ["start red"], "the environment")
        self.wait_for(lambda: self.read("three", task="signalled"), "port=80")

        self.put("app/three", port="81", color="red")
        self.wait_for(lambda: self.read("three", task="signalled"), "port=81")
        self.wait_for(lambda: self.heard("three", "signalled"), ["start ", "hup"], "the signal")
        self.wait_for(lambda: self.heard("three", "restarted"), ["start ", "start "], "the restart")
        self.assertEqual(["start red"], self.heard("three", "ambient"))
        # Events take a moment longer to the servers.
        self.wait_for(lambda: self.events("three", "Signaling", "signalled"), ["Template re-rendered"], "its event")
        self.wait_for(lambda: self.events("three", "Restart Signaled", "restarted"),
                      ["Template with change_mode restart re-rendered"], "its event")

        self.put("app/three", port="81", color="blue")
        self.wait_for(lambda: self.heard("three", "ambient"), ["start red", "start blue"], "the environment")
        self.assertEqual(2, len(self.heard("three", "restarted")))

        # A service that comes, and one that goes.
        service = {"Name": "back", "Provider": "nomad", "PortLabel": "8080", "Address": "10.9.8.7"}
        self.run_job(job("backend", Services=[service]))
        self.wait_for(lambda: self.read("three", task="signalled"), "port=81 10.9.8.7:8080")
        self.wait_for(lambda: self.heard("three", "signalled"), ["start ", "hup", "hup"], "the signal")
        self.agent.request("DELETE", "/v1/job/backend")
        self.wait_for(lambda: self.read("three", task="signalled"), "port=81")

    def test_restarts_of_many_templates_and_changes_are_one(self):
        self.put("app/many", port="0")
        wait = {"Min": SECOND, "Max": 10 * SECOND}
        self.run_job(group_of("many", [task("task", [
            template(port_of("app/many"), f"local/{name}.conf", Wait=wait) for name in "abc"])]))
        self.wait_for(lambda: self.heard("many"), ["start "])
        for number in range(1, 11):
            self.put("app/many", port=str(number))
            time.sleep(0.1)
        self.wait_for(lambda: self.read("many", "local/c.conf"), "port=10")
        self.wait_for(lambda: self.heard("many"), ["start ", "start "], "one restart")
        time.sleep(1.5)
        self.assertEqual(["start ", "start "], self.heard("many"))
        self.wait_for(lambda: len(self.events("many", "Restart Signaled")), 1, "the event of one restart")

    def test_scripts_run_beside_the_task(self):
        for driver in ("raw_exec", "exec"):
            with self.subTest(driver):
                self.script_by(driver)

    def script_by(self, driver):
        if self.agent.get("/v1/nodes").json[0]["Drivers"][driver]["Detected"] is not True:
            self.skipTest(f"{driver} is not there")
        name = "script-" + driver.replace("_", "-")
        self.put("app/script", port="80")
        script = {"Command": "/bin/sh", "Args": ["-c", "pwd > $NOMAD_TASK_DIR/where; echo script >> $NOMAD_TASK_DIR/heard"],
                  "Timeout": 5 * SECOND}
        self.run_job(group_of(name, [task("task", [
            template(port_of("app/script"), mode="script", ChangeScript=script)], driver=driver)]))
        self.wait_for(lambda: self.heard(name), ["start "])
        self.put("app/script", port="81")
        self.wait_for(lambda: self.heard(name), ["start ", "script"], "the script")
        self.assertEqual(self.place(name) if driver == "raw_exec" else "/", self.read(name, "local/where").strip())
        self.wait_for(lambda: [text.split(" with ")[0] for text in self.events(name, "Task hook message")],
                      ["Template successfully ran script /bin/sh"], "the event")

    def test_what_is_rendered_once_stays_and_a_first_script_runs(self):
        self.put("app/once", port="80")
        script = {"Command": "/bin/sh", "Args": ["-c", "echo script >> $NOMAD_TASK_DIR/heard"],
                  "Timeout": 5 * SECOND, "RunOnFirstRender": True}
        self.run_job(group_of("once", [task("task", [
            template(port_of("app/once"), "local/once.conf", Once=True),
            template(port_of("app/once"), "local/followed.conf", mode="script", ChangeScript=script)])]))
        self.wait_for(lambda: sorted(self.heard("once")), ["script", "start "], "the first script")
        self.put("app/once", port="81")
        self.wait_for(lambda: self.read("once", "local/followed.conf"), "port=81")
        self.wait_for(lambda: self.heard("once").count("script"), 2, "the second script")
        self.assertEqual("port=80", self.read("once", "local/once.conf"))
        self.assertEqual(1, self.heard("once").count("start "))

    def test_a_script_that_fails_ends_its_task_if_it_is_to(self):
        self.put("app/fail", port="80")
        script = {"Command": "/bin/sh", "Args": ["-c", "exit 7"], "Timeout": 5 * SECOND, "FailOnError": True}
        self.run_job(group_of("fail", [task("task", [
            template(port_of("app/fail"), mode="script", ChangeScript=script)])], ReschedulePolicy={"Attempts": 0, "Unlimited": False}))
        self.put("app/fail", port="81")
        self.agent.wait_for_allocs("fail", "failed")
        self.assertTrue(any("exited with code code: 7" in text for text in self.events("fail", "Task hook failed")),
                        self.events("fail"))
        self.assertIn("Template script failed, task is being killed", self.events("fail", "Killing"))


class Files(Templates):
    def test_a_file_that_is_read_is_followed(self):
        reads = 'read={{ file "local/part" }}'
        script = 'echo start >> local/heard; trap "echo hup >> local/heard" HUP\n' \
                 'while true; do sleep 0.05 & wait $!; done'
        part = template("one", "local/part", mode="noop")
        self.run_job(group_of("files", [task("task", [part, template(reads, mode="signal", ChangeSignal="SIGHUP")], script)]))
        self.assertEqual("read=one", self.read("files"))
        place = self.place("files")
        for number, text in enumerate(("two", "three")):  # In its place, then within it.
            if number == 0:
                with open(place + "/local/new", "w") as f:
                    f.write(text)
                os.rename(place + "/local/new", place + "/local/part")
            else:
                # Not emptied first: an agent that looks in between is right to tell of that.
                with open(place + "/local/part", "r+") as f:
                    f.write(text)
            self.wait_for(lambda: self.read("files"), "read=" + text)
            self.wait_for(lambda: self.heard("files"), ["start"] + ["hup"] * (number + 1), "the signal")
        # What is written beside it wakes nobody, and nobody is told of what is the same.
        for number in range(20):
            with open(place + "/local/beside", "w") as f:
                f.write(str(number))
        os.utime(place + "/local/part")
        time.sleep(1)
        self.assertEqual(["start", "hup", "hup"], self.heard("files"))


class Waiting(Templates):
    def test_what_is_missing_is_told_and_waited_for(self):
        made = group_of("late", [task("task", [template(port_of("app/late"))])])
        self.agent.register(made)
        self.wait_for(lambda: self.events("late", "Template"),
                      ["Missing: nomad.var.block(app/late@default.global)"], "the event")
        self.assertEqual([], self.heard("late"))
        self.put("app/late", port="80")
        self.wait_for(lambda: self.heard("late"), ["start "], "the start")

    def test_a_job_that_waits_can_be_stopped(self):
        self.agent.register(group_of("never", [task("task", [template(port_of("app/never"))])]))
        wait_until(lambda: self.agent.allocs("never"))
        self.agent.request("DELETE", "/v1/job/never")
        self.agent.wait_for_allocs("never", "complete")


class Refused(Templates):
    def failed(self, name, templates, **more):
        self.agent.register(group_of(name, [task("task", templates, **more)], ReschedulePolicy={"Attempts": 0, "Unlimited": False}))
        self.agent.wait_for_allocs(name, "failed")
        return " ".join(self.events(name))

    def test_a_template_that_is_none_is_not_registered(self):
        made = group_of("wrong", [task("task", [template("one\n{{ if }}\n")])])
        for answer in (self.agent.put("/v1/jobs", {"Job": made}), self.agent.put("/v1/job/wrong/plan", {"Job": made}),
                       self.agent.put("/v1/validate/job", {"Job": made})):
            self.assertIn("template: :2: missing value for if", answer.body)
            self.assertIn("{{ if }}", answer.body)
        self.assertEqual([], [j for j in self.agent.get("/v1/jobs").json if j["ID"] == "wrong"])

    def test_sources_that_are_no_files_of_the_task(self):
        made = template("", "local/x", SourcePath="local/absent")
        self.assertIn("failed to read template", self.failed("absent", [made]))
        # A task of the group puts a FIFO and a link where the other one's source is.
        for name, command in (("fifo", "mkfifo $NOMAD_ALLOC_DIR/source"),
                              ("link", "ln -s /etc/hostname $NOMAD_ALLOC_DIR/source")):
            maker = task("maker", [], command, Lifecycle={"Hook": "prestart", "Sidecar": False})
            reader = task("task", [template("", "local/x", SourcePath="${NOMAD_ALLOC_DIR}/source")])
            self.agent.register(group_of(name, [maker, reader], ReschedulePolicy={"Attempts": 0, "Unlimited": False}))
            self.agent.wait_for_allocs(name, "failed")
            self.assertIn("failed to read template", " ".join(self.events(name)))
            self.assertIsNone(self.read(name, "local/x"))

    def test_a_text_that_is_too_large(self):
        large = '{{ range loop 100000 }}{{ range loop 100000 }}' + "x" * 100 + "{{ end }}{{ end }}"
        with open(f"/proc/{self.agent.process.pid}/statm") as f:
            before = int(f.read().split()[1])
        self.assertIn("Template failed", self.failed("large", [template(large)]))
        with open(f"/proc/{self.agent.process.pid}/statm") as f:
            after = int(f.read().split()[1])
        self.assertLess((after - before) * 4096, 128 << 20)

    def test_files_outside_of_the_sandbox(self):
        self.assertIn("'../../../../etc/passwd' is outside of sandbox", self.failed("outside", [template('{{ file "../../../../etc/passwd" }}')]))
        self.assertIn("Template failed", self.failed("host", [template('{{ file "/etc/passwd" }}')]))
        self.assertIn("disabled", self.failed("written", [template('{{ "x" | writeToFile "/tmp/x" "root" "root" "0644" }}')]))


class Killed(Templates):
    def test_the_next_agent_goes_on_without_need(self):
        self.put("app/kept", port="80")
        self.run_job(group_of("kept", [task("task", [
            template(port_of("app/kept"), mode="signal", ChangeSignal="SIGHUP")])]))
        self.wait_for(lambda: self.heard("kept"), ["start "])
        changed = os.stat(os.path.join(self.place("kept"), "local/app.conf")).st_mtime_ns
        self.agent.kill9()
        self.agent.start()
        self.agent.wait_for_allocs("kept", "running")
        time.sleep(1)
        self.assertEqual(["start "], self.heard("kept"))
        self.assertEqual(changed, os.stat(os.path.join(self.place("kept"), "local/app.conf")).st_mtime_ns)
        # It follows on.
        self.put("app/kept", port="81")
        self.wait_for(lambda: self.heard("kept"), ["start ", "hup"], "the signal")

    def test_what_changed_meanwhile_is_dealt_with(self):
        self.put("app/gone", port="80")
        self.run_job(group_of("gone", [task("task", [template(port_of("app/gone"), mode="signal", ChangeSignal="SIGHUP")])]))
        self.wait_for(lambda: self.heard("gone"), ["start "])
        path = os.path.join(self.place("gone"), "local/app.conf")
        self.agent.kill9()
        with open(path, "w") as f:  # As if an older text had been written.
            f.write("port=79")
        self.agent.start()
        self.wait_for(lambda: self.heard("gone"), ["start ", "hup"], "the signal")
        self.assertEqual("port=80", self.read("gone"))

    def test_what_was_written_and_not_told_is_told(self):
        self.put("app/untold", port="80")
        self.run_job(group_of("untold", [task("task", [
            template(port_of("app/untold"), mode="signal", ChangeSignal="SIGHUP", Splay=15 * 10**9)])]))
        self.wait_for(lambda: self.heard("untold"), ["start "])
        self.put("app/untold", port="81")
        wait_until(lambda: self.read("untold") == "port=81", what="the new text", interval=0.001)
        self.agent.kill9()
        self.agent.start()
        self.wait_for(lambda: self.heard("untold"), ["start ", "hup"], "the signal")

    def test_secrets_are_in_memory_and_nothing_is_left(self):
        if os.geteuid() != 0:
            self.skipTest("mounts need root")
        self.put("app/secret", port="tulip-and-quince")
        self.run_job(group_of("secretive", [task("task", [
            template("PORT={{ with nomadVar \"app/secret\" }}{{ .port }}{{ end }}\n", "secrets/env", Envvars=True)])]))
        self.wait_for(lambda: self.heard("secretive"), ["start "])
        place = self.place("secretive") + "/secrets"
        mounted = lambda: [line.split()[2] for line in open("/proc/mounts") if line.split()[1] == place]
        self.assertEqual(["tmpfs"], mounted())
        self.agent.kill9()
        self.agent.start()
        self.agent.wait_for_allocs("secretive", "running")
        self.assertEqual(["tmpfs"], mounted())
        for name in glob.glob(self.agent.data_dir + "/client/**", recursive=True):
            if os.path.isfile(name):
                with open(name, "rb") as f:
                    self.assertNotIn(b"tulip-and-quince", f.read(), name)
        self.agent.request("DELETE", "/v1/job/secretive")
        self.agent.wait_for_allocs("secretive", "complete")
        wait_until(lambda: not mounted(), what="the end of what the task was given, before the rest is collected")
        self.assertEqual([], os.listdir(place))
        self.agent.request("DELETE", "/v1/job/secretive?purge=true")
        self.agent.put("/v1/system/gc")
        wait_until(lambda: not os.path.exists(place), what="the end of the directory")
        self.assertEqual([], mounted())


if __name__ == "__main__":
    harness.main()
