"""The drivers java and qemu: what they find, run, refuse and end. Each needs its program on this machine."""
import os
import shutil
import subprocess
import tempfile
import time
import unittest

import harness
from harness import Agent, job, wait_until

JAVA = """
public class Main {
  public static void main(String[] words) throws Exception {
    System.out.println("heap " + System.getProperty("marked") + " " + String.join("+", words));
    System.out.println("user " + System.getProperty("user.name") + " in " + System.getProperty("user.dir"));
    System.out.println("host " + new java.io.File("%s").exists());
    if (words.length > 1) { Thread.sleep(600000); }
    System.exit(words.length == 0 ? 0 : 7);
  }
}
"""

# Prints UP, waits until the power button is pressed, and switches the machine off.
BOOT_SECTOR = bytes.fromhex(
    "fb" "baf803" "b055ee" "b050ee" "b00aee"    # sti; out 0x3f8, "UP\n"
    "ba0206" "b80001" "ef"                      # PM1_EN: the power button
    "f4" "ba0006" "ed" "a90001" "74f6"          # hlt; PM1_STS; again while it is not pressed
    "ba0406" "b80020" "ef" "f4" "ebfd"          # PM1_CNT: off
).ljust(510, b"\0") + b"\x55\xaa"


class Machines(unittest.TestCase):
    driver = ""
    more = ""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root")
        cls.files = tempfile.mkdtemp(prefix="nomadctl-machines-", dir="/var/tmp")
        os.chmod(cls.files, 0o755)
        cls.addClassCleanup(shutil.rmtree, cls.files)
        cls.agent = Agent(cls.more.replace("FILES", cls.files))
        cls.addClassCleanup(cls.agent.destroy)
        os.chmod(cls.agent.dir, 0o755)
        cls.agent.start()
        cls.node = cls.agent.get("/v1/node/" + cls.agent.get("/v1/nodes").json[0]["ID"]).json

    def task_job(self, name, config, kind="service", **group):
        made = job(name, self.driver, config, kind=kind, **group)
        task = made["TaskGroups"][0]["Tasks"][0]
        task["Resources"] = {"CPU": 100, "MemoryMB": 256}
        made["TaskGroups"][0]["RestartPolicy"] = {"Attempts": 0, "Mode": "fail"}
        made["TaskGroups"][0]["ReschedulePolicy"] = {"Attempts": 0, "Unlimited": False}
        return made

    def ended(self, name):
        def found():
            return [a for a in self.agent.allocs(name) if a["ClientStatus"] in ("complete", "failed")]
        return wait_until(found, what=f"the end of {name}", timeout=60)[0]

    def output(self, alloc, which="stdout"):
        path = os.path.join(self.agent.data_dir, "alloc", alloc, "alloc", "logs", f"task.{which}.0")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def refused(self, name, config):
        self.agent.register(self.task_job(name, config, kind="batch"))
        events = self.ended(name)["TaskStates"]["task"]["Events"]
        return "\n".join(e["DisplayMessage"] for e in events)


@unittest.skipUnless(shutil.which("java") and shutil.which("javac"), "needs java and javac")
class Java(Machines):
    driver = "java"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(os.path.join(cls.files, "Main.java"), "w", encoding="utf-8") as f:
            f.write(JAVA % cls.files)
        subprocess.run(["javac", "Main.java"], cwd=cls.files, check=True)
        if not cls.node["Drivers"]["java"]["Healthy"]:
            raise unittest.SkipTest("this machine can't isolate: " + cls.node["Drivers"]["java"]["HealthDescription"])

    def java_job(self, name, config, **more):
        """With a task before it that brings the class."""
        made = self.task_job(name, dict({"class": "Main", "class_path": "${NOMAD_ALLOC_DIR}"}, **config), **more)
        made["TaskGroups"][0]["Tasks"].append({
            "Name": "bring", "Driver": "raw_exec", "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1}, "Lifecycle": {"Hook": "prestart"},
            "Config": {"command": "/bin/sh", "args": ["-c", f"cp {self.files}/Main.class $NOMAD_ALLOC_DIR/"]}})
        return made

    def test_the_node_says_which_java_there_is(self):
        said = subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr
        self.assertEqual("1", self.node["Attributes"]["driver.java"])
        self.assertIn('"' + self.node["Attributes"]["driver.java.version"] + '"', said)
        self.assertIn(self.node["Attributes"]["driver.java.runtime"], said)
        self.assertIn(self.node["Attributes"]["driver.java.vm"], said)

    def test_classes_run_in_a_place_of_their_own(self):
        self.agent.register(self.java_job("main", {"args": ["one"], "jvm_options": ["-Dmarked=yes"]}, kind="batch"))
        alloc = self.ended("main")
        self.assertEqual("heap yes one\nuser nobody in /\nhost false\n", self.output(alloc["ID"]))
        ends = [e for e in alloc["TaskStates"]["task"]["Events"] if e["Type"] == "Terminated"]
        self.assertEqual("7", ends[-1]["Details"]["exit_code"])

    def test_a_command_beside_it_a_restart_of_the_agent_and_its_end(self):
        self.agent.register(self.java_job("long", {"args": ["a", "b"]}))
        alloc = self.agent.wait_for_allocs("long", "running")[0]["ID"]
        wait_until(lambda: "a+b" in self.output(alloc), what="the output of the task")
        self.agent.kill9()
        self.agent.start()
        wait_until(lambda: [a for a in self.agent.allocs("long") if a["ClientStatus"] == "running"],
                   what="the task after the restart")
        beside = self.agent.run("alloc", "exec", "-task", "task", alloc, "/bin/sh", "-c", "tr '\\0' ' ' </proc/1/cmdline")
        self.assertIn("Main a b", beside.stdout)
        self.agent.run("job", "stop", "long")
        wait_until(lambda: self.agent.allocs("long")[0]["ClientStatus"] == "complete", what="its end")

    def test_what_can_not_be_run_is_refused(self):
        self.assertIn("jar_path or class must be specified", self.refused("nothing", {"args": ["x"]}))
        self.assertIn('did you mean "jar_path"', self.refused("misspelled", {"jar_pat": "x.jar"}))


@unittest.skipUnless(shutil.which("qemu-system-x86_64"), "needs qemu-system-x86_64")
class Qemu(Machines):
    driver = "qemu"
    more = 'plugin "qemu" {\n  config {\n    image_paths = ["FILES/images"]\n  }\n}\n'

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.mkdir(os.path.join(cls.files, "images"))
        cls.image = os.path.join(cls.files, "images", "disk.img")
        for name in (cls.image, os.path.join(cls.files, "elsewhere.img")):
            with open(name, "wb") as f:
                f.write(BOOT_SECTOR)
        os.symlink("../elsewhere.img", os.path.join(cls.files, "images", "link.img"))

    def runs(self, name, config, **more):
        made = self.task_job(name, dict({"image_path": self.image}, **config), **more)
        made["TaskGroups"][0]["Tasks"][0]["KillTimeout"] = 20 * 10**9
        self.agent.register(made)
        alloc = self.agent.wait_for_allocs(name, "running")[0]["ID"]
        wait_until(lambda: "UP" in self.output(alloc), what="the machine", timeout=60)
        return alloc

    def exit_code(self, name):
        alloc = self.ended(name)
        return [e for e in alloc["TaskStates"]["task"]["Events"] if e["Type"] == "Terminated"][-1]["Details"]["exit_code"]

    def test_the_node_says_which_emulator_there_is(self):
        said = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout
        self.assertEqual("1", self.node["Attributes"]["driver.qemu"])
        self.assertIn("version " + self.node["Attributes"]["driver.qemu.version"], said)

    def test_a_machine_is_asked_to_power_down_also_after_a_restart_of_the_agent(self):
        self.runs("graceful", {"graceful_shutdown": True})
        self.agent.kill9()
        self.agent.start()
        wait_until(lambda: [a for a in self.agent.allocs("graceful") if a["ClientStatus"] == "running"],
                   what="the machine after the restart")
        began = time.monotonic()
        self.agent.run("job", "stop", "graceful")
        self.assertEqual("0", self.exit_code("graceful"))
        self.assertLess(time.monotonic() - began, 15)  # Not by the end of its time.

    def test_one_without_a_monitor_ends_by_a_signal(self):
        alloc = self.runs("plain", {})
        refusal = self.agent.run("alloc", "exec", "-task", "task", alloc, "true")
        self.assertIn("does not support exec", refusal.stdout + refusal.stderr)
        began = time.monotonic()
        self.agent.run("job", "stop", "plain")
        self.exit_code("plain")
        self.assertLess(time.monotonic() - began, 15)

    def test_ports_of_the_host_lead_into_the_machine(self):
        self.runs("ports", {"port_map": [{"ssh": 22}]}, Networks=[{"DynamicPorts": [{"Label": "ssh"}]}])
        shared = self.agent.allocs("ports")[0]["ID"]
        port = self.agent.get("/v1/allocation/" + shared).json["AllocatedResources"]["Shared"]["Ports"][0]["Value"]
        listening = subprocess.run(["ss", "-Hltn", f"sport = :{port}"], capture_output=True, text=True, check=True).stdout
        self.assertIn(f":{port}", listening)

    def test_what_may_not_be_run_is_refused(self):
        not_allowed = "image_path is not in the allowed paths"
        self.assertIn(not_allowed, self.refused("away", {"image_path": self.files + "/elsewhere.img"}))
        self.assertIn(not_allowed, self.refused("link", {"image_path": self.files + "/images/link.img"}))
        self.assertIn("No such file", self.refused("absent", {"image_path": "local/absent.img"}))
        self.assertIn("Unsupported drive_interface",
                      self.refused("drive", {"image_path": self.image, "drive_interface": "usb"}))
        self.assertIn("image_path", self.refused("none", {}))


if __name__ == "__main__":
    harness.main()
