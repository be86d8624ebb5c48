"""The driver exec: what a task sees, what it can't reach, what it may use, and that nothing of it stays."""
import contextlib
import glob
import json
import os
import time
import unittest

import harness
from harness import Agent, job, wait_until

MARK = f"77{os.getpid()}"  # In words of tasks, by which the test finds their processes.


def processes_with(word):
    found = []
    for name in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError), open(name, "rb") as f:
            if word.encode() in f.read():
                found.append(int(name.split("/")[2]))
    return found


def remove_groups(parent):
    for folder, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
        if f"/{parent}" in folder:
            with contextlib.suppress(OSError):
                os.rmdir(folder)


def groups_below(parent):
    """The control groups of tasks, that is all but those that an agent keeps."""
    kept = ("shared", "reserved", "share.slice", "reserve.slice", parent, parent + ".slice")
    return [folder for folder, _, _ in os.walk("/sys/fs/cgroup")
            if f"/{parent}" in folder and os.path.basename(folder) not in kept]


def exec_job(name, script, config=None, user=None, mb=64, cpu=50, **group):
    made = job(name, "exec", dict({"command": "/bin/sh", "args": ["-c", script]}, **(config or {})), **group)
    task = made["TaskGroups"][0]["Tasks"][0]
    task["Resources"] = {"CPU": cpu, "MemoryMB": mb}
    if user is not None:
        task["User"] = user
    if made["Type"] == "batch":
        made["TaskGroups"][0]["RestartPolicy"] = {"Attempts": 0, "Mode": "fail"}
        made["TaskGroups"][0]["ReschedulePolicy"] = {"Attempts": 0, "Unlimited": False}
    return made


class ExecTest(unittest.TestCase):
    more = ""
    plugin = ""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("exec needs root")
        cls.parent = f"nomad-test-exec-{os.getpid()}-{cls.__name__}"
        cls.agent = Agent(f'client {{\n  cgroup_parent = "{cls.parent}"\n{cls.more}}}\n'
                          f'plugin "exec" {{\n  config {{\n{cls.plugin}  }}\n}}\n')
        os.chmod(cls.agent.dir, 0o755)
        cls.agent.start()
        node = cls.agent.get("/v1/nodes").json[0]
        if not node["Drivers"]["exec"]["Healthy"]:
            description = node["Drivers"]["exec"]["HealthDescription"]
            cls.tearDownClass()
            raise unittest.SkipTest(f"this machine can't isolate: {description}")
        cls.number = 0

    @classmethod
    def tearDownClass(cls):
        cls.agent.destroy()
        remove_groups(cls.parent)

    def alloc_dir(self, alloc, *parts):
        return os.path.join(self.agent.data_dir, "alloc", alloc, *parts)

    def output(self, alloc, which="stdout"):
        with open(self.alloc_dir(alloc, "alloc", "logs", f"task.{which}.0")) as f:
            return f.read()

    def ended(self, name):
        """The allocation of a batch job, once its task has ended."""
        def found():
            return [a for a in self.agent.allocs(name) if a["ClientStatus"] in ("complete", "failed")]
        return wait_until(found, what=f"the end of {name}")[0]

    def run_script(self, script, **kwargs):
        """Exit code, output and errors of a script that ends."""
        type(self).number += 1
        name = f"run-{self.number}"
        self.agent.register(exec_job(name, script, kind="batch", **kwargs))
        alloc = self.ended(name)
        events = alloc["TaskStates"]["task"]["Events"]
        ends = [e for e in events if e["Type"] == "Terminated"]
        self.assertTrue(ends, events)
        return int(ends[-1]["Details"]["exit_code"]), self.output(alloc["ID"]), self.output(alloc["ID"], "stderr")

    def out(self, script, **kwargs):
        code, out, err = self.run_script(script, **kwargs)
        self.assertEqual((0, ""), (code, err), out)
        return out

    def refused(self, **kwargs):
        """Why a task could not be started: the texts of its events."""
        type(self).number += 1
        name = f"refused-{self.number}"
        made = exec_job(name, "true", kind="batch")
        made["TaskGroups"][0]["Tasks"][0].update(kwargs)
        self.agent.register(made)
        state = self.ended(name)["TaskStates"]["task"]
        self.assertTrue(state["Failed"])
        return "\n".join(e["DisplayMessage"] for e in state["Events"])

    def runs(self, name, script, **kwargs):
        """A service that runs, by its allocation's id."""
        self.agent.register(exec_job(name, script, **kwargs))
        return self.agent.wait_for_allocs(name, "running")[0]["ID"]

    def beside(self, name, *words):
        return self.agent.run("alloc", "exec", "-job", name, *words)


class Inside(ExecTest):
    """What a task finds."""

    def test_its_files_are_those_of_nomads_chroot(self):
        out = self.out("pwd; ls /; ls /alloc /dev; stat -c '%n %U %a' /local /secrets /alloc /tmp; id -un; echo $$; cat /etc/os-release >/dev/null")
        lines = out.splitlines()
        self.assertEqual("/", lines[0])
        for name in ("alloc", "bin", "dev", "etc", "lib", "local", "proc", "sbin", "secrets", "sys", "tmp", "usr"):
            self.assertIn(name, lines[1:30])
        for name in ("data", "logs", "null", "zero", "pts", "shm"):
            self.assertIn(name, lines)
        self.assertNotIn("vda", lines)
        for line in ("/local nobody 777", "/secrets nobody 700", "/alloc nobody 777", "/tmp nobody 1777"):
            self.assertIn(line, lines)
        self.assertEqual(["nobody", "1"], lines[-2:])

    def test_its_environment_names_paths_that_it_sees_and_no_secrets_of_the_agent(self):
        os.environ["AWS_SECRET_ACCESS_KEY"] = "secret-of-the-agent"
        try:
            agent_env = dict(os.environ)
            self.agent.stop()
            self.agent.start()
        finally:
            del os.environ["AWS_SECRET_ACCESS_KEY"]
        found = dict(line.split("=", 1) for line in self.out("env").splitlines() if "=" in line)
        self.assertEqual(("/alloc", "/local", "/secrets"),
                         tuple(found[f"NOMAD_{name}_DIR"] for name in ("ALLOC", "TASK", "SECRETS")))
        self.assertEqual(agent_env["PATH"], found["PATH"])
        self.assertNotIn("AWS_SECRET_ACCESS_KEY", found)
        self.assertIn("HOME", found)

    def test_codes_and_signals_of_its_end_are_told(self):
        self.assertEqual(7, self.run_script("exit 7")[0])
        self.assertEqual(143, self.run_script("sh -c 'kill -TERM $$'; exit $?")[0])
        self.assertEqual("first\n", self.run_script("echo first; echo second >&2")[1])

    def test_a_program_of_its_own_directory_is_made_executable_and_run(self):
        made = exec_job("own", "", kind="batch", config={"command": "run.sh", "args": ["one", "two words"]})
        made["Payload"] = None
        made["TaskGroups"][0]["Tasks"].insert(0, {
            "Name": "make", "Driver": "exec", "Lifecycle": {"Hook": "prestart"},
            "Config": {"command": "/bin/sh", "args": ["-c", "echo '#!/bin/sh\necho $0 \"$@\"' > /alloc/run.sh"]},
            "LogConfig": {"MaxFiles": 2, "MaxFileSizeMB": 2}, "Resources": {"CPU": 50, "MemoryMB": 32}})
        made["TaskGroups"][0]["Tasks"][1]["Config"]["command"] = "alloc/run.sh"
        self.agent.register(made)
        alloc = self.ended("own")
        self.assertEqual("complete", alloc["ClientStatus"], alloc["TaskStates"])
        self.assertEqual("/alloc/run.sh one two words\n", self.output(alloc["ID"]))

    def test_names_of_tasks_may_have_blanks_and_letters_of_any_language(self):
        made = exec_job("names", "echo $NOMAD_TASK_NAME", kind="batch")
        made["TaskGroups"][0]["Tasks"][0]["Name"] = "meine Prüfung"
        self.agent.register(made)
        alloc = self.ended("names")
        self.assertEqual("complete", alloc["ClientStatus"], alloc["TaskStates"])
        with open(self.alloc_dir(alloc["ID"], "alloc", "logs", "meine Prüfung.stdout.0")) as f:
            self.assertEqual("meine Prüfung\n", f.read())

    def test_what_can_not_be_executed_is_named(self):
        template = {"EmbeddedTmpl": "#!/bin/sh\r\ntrue\r\n", "DestPath": "local/run.sh", "ChangeMode": "noop"}
        self.assertIn("executing local/run.sh: No such file or directory",
                      self.refused(Config={"command": "local/run.sh"}, Templates=[template]))

    def test_users_are_those_of_the_host_and_root_is_refused(self):
        self.assertEqual("daemon\n", self.out("id -un", user="daemon"))
        self.assertEqual("54321 54322 54322\n", self.out("echo $(id -u) $(id -g) $(id -G)", user="54321:54322"))
        self.assertIn('running as user "0:0" is disallowed', self.refused(User="0:0"))
        self.assertIn('user "nobody" is not in group "root"', self.refused(User="nobody:root"))
        self.assertIn('running as user "root" is disallowed', self.refused(User="root"))
        self.assertIn('running as user "0" is disallowed', self.refused(User="0"))
        self.assertIn('unknown user "no-such-user"', self.refused(User="no-such-user"))

    def test_capabilities_are_nomads_and_change_as_asked(self):
        usual = 0x00000000A80425FB & ~(1 << 13)
        script = "grep -E '^Cap(Eff|Bnd|Amb)' /proc/self/status | cut -f2"
        self.assertEqual({usual}, {int(each, 16) for each in self.out(script).split()})
        dropped = self.out(script, config={"cap_drop": ["all"], "cap_add": ["CHOWN", "cap_kill"]})
        self.assertEqual({1 << 0 | 1 << 5}, {int(each, 16) for each in dropped.split()})
        config = {"command": "/bin/true", "cap_add": ["net_raw", "SYS_ADMIN"]}
        self.assertIn("driver does not allow the following capabilities: net_raw, sys_admin", self.refused(Config=config))
        config["cap_add"] = ["flying"]
        self.assertIn("cap_add configured with capabilities not supported by system: flying", self.refused(Config=config))

    def test_what_its_configuration_can_not_mean_is_refused(self):
        self.assertIn('no argument or block type is named "comand"; did you mean "command"?',
                      self.refused(Config={"comand": "/bin/true"}))
        self.assertIn('missing required argument "command"', self.refused(Config={}))
        self.assertIn('pid_mode must be "private" or "host", got "shared"',
                      self.refused(Config={"command": "/bin/true", "pid_mode": "shared"}))
        self.assertIn("file no-such-program not found under path", self.refused(Config={"command": "no-such-program"}))
        self.assertIn("CpuShares must be equal to or greater than 2",
                      self.refused(Resources={"CPU": 1, "MemoryMB": 10}))

    def test_processes_and_queues_are_its_own_or_the_hosts_as_asked(self):
        self.assertIn("nomadctl", self.out("cat /proc/[0-9]*/comm 2>/dev/null | sort -u", config={"pid_mode": "host"}))
        self.assertNotIn("nomadctl", self.out("cat /proc/[0-9]*/comm 2>/dev/null | sort -u"))
        mine = os.readlink("/proc/self/ns/ipc")
        self.assertEqual(mine + "\n", self.out("readlink /proc/self/ns/ipc", config={"ipc_mode": "host"}))
        self.assertNotEqual(mine + "\n", self.out("readlink /proc/self/ns/ipc"))

    def test_what_it_writes_beside_the_hosts_files_is_in_its_directory_alone(self):
        self.agent.register(exec_job("writes", "echo mine > /etc/passwd; echo new > /usr/new; cat /etc/passwd", kind="batch"))
        alloc = self.ended("writes")["ID"]
        self.assertEqual("mine\n", self.output(alloc))
        with open("/etc/passwd") as f:
            self.assertIn("root:", f.read())
        self.assertFalse(os.path.exists("/usr/new"))
        self.assertEqual("mine\n", self.agent.run("alloc", "fs", alloc, "task/etc/passwd").stdout)


class Escapes(ExecTest):
    """Ways out, each tried."""

    def test_no_program_runs_as_its_owner(self):
        script = ("cp /bin/id /local/id && chown 0 /local/id && chmod 4755 /local/id && /local/id -u; "
                  "grep -c NoNewPrivs:.1 /proc/self/status; "
                  "while read a b c d where flags e; do case $where in /|/usr|/alloc) echo $where $flags;; esac; done < /proc/self/mountinfo | grep -c nosuid,nodev")
        self.assertEqual("65534\n1\n3\n", self.out(script))

    def test_devices_that_it_makes_can_not_be_opened(self):
        for where in ("/dev", "/local", "/alloc", "/tmp", "/etc"):
            code, out, err = self.run_script(
                f"mknod {where}/disk b 254 0 && dd if={where}/disk of=/dev/null count=1 2>&1; rm -f {where}/disk")
            self.assertIn("Permission denied", out + err, where)

    def test_nothing_is_mounted_and_no_namespace_is_entered_or_made(self):
        for command in ("mount -t tmpfs none /tmp", "mount --bind /etc /tmp", "umount /alloc", "unshare -m true",
                        "unshare -Ur true", "unshare -n true", "nsenter -t 1 -m true", "mount -o remount,rw /sys",
                        "chroot / unshare -U true"):
            code, _, err = self.run_script(command)
            self.assertNotEqual(0, code, command)
            self.assertRegex(err, "(?i)not permitted|denied|must be superuser|failed", command)

    def test_other_processes_are_neither_seen_nor_traced_nor_killed(self):
        self.runs("victim", f"sleep {MARK}1; true")
        pid = wait_until(lambda: processes_with(f"{MARK}1"))[0]
        out = self.out(f"kill -9 {pid} 2>/dev/null || echo not killed; test -e /proc/{pid} || echo not seen; "
                       "ls -d /proc/1/root/work /proc/1/root/boot 2>/dev/null | wc -l; cat /proc/1/cmdline | tr '\\0' ' ' | cut -c1-7")
        self.assertEqual("not killed\nnot seen\n0\n/bin/sh\n", out)
        self.assertTrue(os.path.exists(f"/proc/{pid}"))

    def test_tracing_reaches_its_own_processes_alone(self):
        script = ("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                  f"print(libc.ptrace(16, {os.getpid()}, 0, 0), ctypes.get_errno())\n"
                  f"print(libc.syscall(434, {os.getpid()}, 0), ctypes.get_errno())")  # pidfd_open
        code, out, err = self.run_script(f"python3 -c '{script}'")
        if code == 127 or "not found" in err:
            self.skipTest("needs python3 in /usr")
        self.assertEqual("-1 3\n-1 3\n", out)

    def test_links_and_roots_lead_to_its_own_files_alone(self):
        with open(os.path.join(self.agent.dir, "host-secret"), "w") as f:
            f.write("secret")
        os.chmod(f.name, 0o644)
        out = self.out(f"ln -s {f.name} /local/link; cat /local/link 2>/dev/null || echo no; "
                       f"cat /proc/1/root{f.name} 2>/dev/null || echo no; cat /proc/self/cwd{f.name} 2>/dev/null || echo no; "
                       f"cat /../../../{f.name} 2>/dev/null || echo no")
        self.assertEqual("no\n" * 4, out)
        # The old way out of a chroot, which the default capability SYS_CHROOT allows to try.
        script = ("import os\nos.mkdir(\"/tmp/x\")\nd = os.open(\"/\", os.O_RDONLY)\nos.chroot(\"/tmp/x\")\nos.fchdir(d)\n"
                  "for i in range(50): os.chdir(\"..\")\nos.chroot(\".\")\n"
                  f"print(os.path.exists(\"{f.name}\"), os.path.exists(\"/alloc\"))")
        code, out, err = self.run_script(f"python3 -c '{script}'")
        if code == 0:
            self.assertEqual("False True\n", out)

    def test_a_link_in_the_place_of_a_mount_does_not_lead_the_next_start_out(self):
        target = os.path.join(self.agent.dir, "host-directory")
        os.mkdir(target, 0o777)
        script = (f"if test -e /local/again; then ls {target} && echo out; exit 0; fi; touch /local/again; "
                  f"rm -rf /run; ln -s {target} /srv; ln -s {target} /opt; exit 1")
        made = exec_job("relink", script)
        made["Type"] = "batch"
        made["TaskGroups"][0]["RestartPolicy"] = {"Attempts": 1, "Interval": 10 ** 12, "Delay": 10 ** 7, "Mode": "fail"}
        self.agent.register(made)
        alloc = self.ended("relink")
        self.assertNotIn("out", self.output(alloc["ID"]))
        self.assertEqual([], os.listdir(target))

    def test_secrets_of_others_and_the_agents_files_are_out_of_reach(self):
        other = self.runs("keeper", "echo hidden > /secrets/s; sleep 1000")
        wait_until(lambda: os.path.exists(self.alloc_dir(other, "task", "secrets", "s")))
        places = f"{self.agent.data_dir} {self.alloc_dir(other)} {self.alloc_dir(other, 'task', 'secrets')}"
        self.assertEqual("none\n", self.out(f"ls -d {places} 2>/dev/null || echo none"))
        self.assertEqual("", self.out("ls /private"))

    def test_the_kernels_settings_and_keys_can_not_be_changed(self):
        for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper"):
            code, _, err = self.run_script(f"echo x > {path}")
            self.assertNotEqual(0, code, path)
        self.assertEqual("0\n", self.out("cat /proc/kcore 2>/dev/null | wc -c"))


class Moved(ExecTest):
    """With no_pivot_root there is no more way out than without."""
    plugin = "    no_pivot_root = true\n"

    test_links_and_roots_lead_to_its_own_files_alone = Escapes.test_links_and_roots_lead_to_its_own_files_alone
    test_secrets_of_others_and_the_agents_files_are_out_of_reach = Escapes.test_secrets_of_others_and_the_agents_files_are_out_of_reach


class Limits(ExecTest):
    plugin = "    pids_limit = 40\n"

    def test_memory_beyond_the_limit_ends_the_task(self):
        script = "x=$(head -c 60000000 /dev/zero | tr '\\0' x); echo survived ${#x}"
        self.agent.register(exec_job("eats", script, kind="batch", mb=20))
        alloc = self.ended("eats")
        self.assertEqual("failed", alloc["ClientStatus"])
        end = [e for e in alloc["TaskStates"]["task"]["Events"] if e["Type"] == "Terminated"][0]
        self.assertEqual(("137", "true"), (end["Details"]["exit_code"], end["Details"]["oom_killed"]), end)
        self.assertIn("survived 60000000", self.out(script, mb=400))

    def test_processes_beyond_the_limit_are_not_made(self):
        out = self.run_script("for i in $(seq 60); do sleep 20 & done; true")
        self.assertNotEqual((0, ""), (out[0], out[2]))
        self.assertRegex(out[2], "(?i)fork|resource")

    def test_processors_are_shared_by_weight(self):
        burn = "taskset -c 0 sh -c 'while :; do :; done' & wait"
        heavy, light = self.runs("heavy", burn, cpu=1000), self.runs("light", burn, cpu=100)
        def ticks(alloc):
            pids = [pid for folder in groups_below(self.parent) if alloc in folder
                    for pid in open(os.path.join(folder, "cgroup.procs")).read().split()]
            total = 0
            for pid in set(pids):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as f:
                    total += int(f.read().rsplit(")", 1)[1].split()[11])
            return total
        wait_until(lambda: ticks(heavy) > 20)
        before = ticks(heavy), ticks(light)
        wait_until(lambda: ticks(heavy) - before[0] > 80)
        self.assertGreater(ticks(heavy) - before[0], 3 * (ticks(light) - before[1]))


class RootAllowed(ExecTest):
    more = ('  options {\n    "user.denylist" = ""\n  }\n  host_volume "data" {\n    path = "@DIR@/data"\n  }\n'
            '  host_volume "fixed" {\n    path = "@DIR@/fixed"\n    read_only = true\n  }\n'
            '  host_volume "own[0]" {\n    path = "@DIR@/own"\n  }\n')
    plugin = '    allow_caps = ["all"]\n    default_pid_mode = "host"\n    default_ipc_mode = "host"\n    no_new_privs = false\n    seccomp = false\n'

    @classmethod
    def setUpClass(cls):
        import tempfile
        cls.volumes = tempfile.mkdtemp(prefix="nomadctl-test-volumes-")
        os.chmod(cls.volumes, 0o755)
        for name in ("data", "fixed", "own"):
            os.mkdir(os.path.join(cls.volumes, name))
            os.chmod(os.path.join(cls.volumes, name), 0o777)
            with open(os.path.join(cls.volumes, name, "name"), "w") as f:
                f.write(name + "\n")
        cls.more = cls.more.replace("@DIR@", cls.volumes)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        import shutil
        shutil.rmtree(cls.volumes, ignore_errors=True)

    def test_the_agents_settings_have_their_effect(self):
        script = "id -u; test $$ != 1 && echo host; readlink /proc/self/ns/ipc; grep -E 'NoNewPrivs|Seccomp:' /proc/self/status | cut -f2"
        self.assertEqual(["65534", "host", os.readlink("/proc/self/ns/ipc"), "0", "0"], self.out(script).split("\n")[:5])
        self.assertEqual("0\n", self.out("id -u", user="root"))
        private = {"pid_mode": "private", "ipc_mode": "private"}
        self.assertEqual("1\n", self.out("echo $$", config=private))
        bits = self.out("grep CapEff /proc/self/status | cut -f2", config={"cap_add": ["sys_admin", "net_raw"]})
        self.assertTrue(int(bits, 16) & 1 << 21 and int(bits, 16) & 1 << 13)
        self.assertEqual("0\n", self.out("cp /bin/id /local/id && chown 0 /local/id && chmod 4755 /local/id && /local/id -u"))

    def volume_job(self, name, script, source, per_alloc=False, read_only=False, propagation="private", mount_read_only=False):
        made = exec_job(name, script, kind="batch")
        group = made["TaskGroups"][0]
        group["Volumes"] = {"v": {"Name": "v", "Type": "host", "Source": source, "ReadOnly": read_only, "PerAlloc": per_alloc}}
        group["Tasks"][0]["VolumeMounts"] = [{"Volume": "v", "Destination": "/etc/volume", "ReadOnly": mount_read_only,
                                              "PropagationMode": propagation}]
        self.agent.register(made)
        alloc = self.ended(name)
        return self.output(alloc["ID"])

    def test_volumes_of_the_host_are_where_they_are_wanted(self):
        script = "cat /etc/volume/name; echo $$ > /etc/volume/written 2>/dev/null && echo writable || echo read-only"
        self.assertEqual("data\nwritable\n", self.volume_job("plain", script, "data"))
        self.assertTrue(os.path.exists(os.path.join(self.volumes, "data", "written")))
        self.assertEqual("fixed\nread-only\n", self.volume_job("fixed", script, "fixed", read_only=True))
        self.assertEqual("data\nread-only\n", self.volume_job("asked", script, "data", mount_read_only=True))
        self.assertEqual("own\nwritable\n", self.volume_job("per-alloc", script, "own", per_alloc=True))

    def test_mounts_below_a_volume_spread_as_asked(self):
        script = "mkdir -p /etc/volume/below; mount -t tmpfs none /etc/volume/below && touch /etc/volume/below/here; sleep 0.2"
        where = os.path.join(self.volumes, "data", "below")
        for propagation, expected in (("private", False), ("host-to-task", False), ("bidirectional", True)):
            made = exec_job(f"spread-{propagation}", script, kind="batch", user="root")
            group = made["TaskGroups"][0]
            group["Volumes"] = {"v": {"Name": "v", "Type": "host", "Source": "data"}}
            group["Tasks"][0]["VolumeMounts"] = [{"Volume": "v", "Destination": "/etc/volume", "PropagationMode": propagation}]
            os.system(f"mount --bind {self.volumes}/data {self.volumes}/data && mount --make-shared {self.volumes}/data")
            try:
                self.agent.register(made)
                alloc = self.ended(f"spread-{propagation}")
                self.assertEqual("complete", alloc["ClientStatus"], self.output(alloc["ID"], "stderr"))
                self.assertEqual(expected, os.path.exists(os.path.join(where, "here")), propagation)
            finally:
                os.system(f"umount {where} 2>/dev/null; umount {self.volumes}/data")


class Survival(ExecTest):
    plugin = "    no_pivot_root = true\n"

    def test_tasks_and_commands_beside_them_outlive_the_agent_and_nothing_of_them_stays(self):
        word = f"{MARK}2"
        alloc = self.runs("stays", f"echo $$ >> /local/pids; trap 'exit 0' INT; sleep {word} & wait")
        before = wait_until(lambda: (found := processes_with(word)) and len(found) == 2 and found,
                            what="the shell and what it has started")
        self.agent.kill9()
        self.agent.start()
        self.agent.wait_for_allocs("stays", "running")
        self.assertEqual(before, processes_with(word))
        shown = self.beside("stays", "sh", "-c", "echo $NOMAD_TASK_DIR; cat /local/pids; id -un; tr '\\0' ' ' < /proc/1/cmdline | cut -c1-7")
        self.assertEqual((0, "/local\n1\nnobody\n/bin/sh\n"), (shown.returncode, shown.stdout), shown)
        shown = self.agent.run("alloc", "exec", "-t", "-job", "stays", "tty", stdin="")
        self.assertNotIn("not a tty", shown.stdout)
        usage = self.agent.get(f"/v1/client/allocation/{alloc}/stats").json
        self.assertGreater(usage["ResourceUsage"]["MemoryStats"]["Usage"], 0)
        self.assertEqual(200, self.agent.put(f"/v1/client/allocation/{alloc}/restart", {}).status)
        wait_until(lambda: len(open(self.alloc_dir(alloc, "task", "local", "pids")).read().split()) == 2)
        self.agent.request("DELETE", "/v1/job/stays?purge=true")
        wait_until(lambda: not processes_with(word), what="the task's end")
        wait_until(lambda: not groups_below(self.parent), what="the removal of control groups")
        with open("/proc/self/mountinfo") as f:
            left = [line for line in f if self.agent.data_dir in line and "/secrets" not in line and "/private" not in line]
        self.assertEqual([], left)

        def removed():
            self.agent.put("/v1/system/gc")  # Of what the servers know to have ended by now.
            return not os.path.exists(self.alloc_dir(alloc))
        wait_until(removed, what="the removal of the directory")
        with open("/proc/self/mountinfo") as f:
            self.assertNotIn(alloc, f.read())


if __name__ == "__main__":
    harness.main()
