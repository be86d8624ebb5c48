"""Packages: made of the programs of this build, unpacked and run as their unit says; an upgrade restarts no task."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

import harness
from harness import BINARY, ServiceManager, shell_job, wait_until

BUILD = os.path.dirname(os.path.dirname(os.path.realpath(BINARY)))
MAKER = os.path.join(harness.ROOT, "cli", "install", "package", "package.py")
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libresolv.so.2", "libgcc_s.so.1",
                 "libstdc++.so.6"}
MISSING = [tool for tool in ("dpkg-deb", "dpkg-shlibdeps", "meson", "patchelf") if not shutil.which(tool)]


def run(*words, **how):
    how.setdefault("env", dict(os.environ)).pop("LD_LIBRARY_PATH", None)  # meson's, of the build
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, **how)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def make(out, version, *kinds):
    """Quickly: nothing of it is compressed."""
    return run(sys.executable, MAKER, BUILD, out, "-quick", "-version", version, *kinds).splitlines()


@unittest.skipIf(MISSING, f"needs {', '.join(MISSING)}")
class PackagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="nomadctl-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.made = make(cls.folder, "1.0.0")
        cls.deb = next(path for path in cls.made if "/nomadctl_1.0.0_" in path)

    def unpacked(self, deb, name):
        tree = os.path.join(self.folder, name)
        run("dpkg-deb", "-x", deb, tree)
        return tree

    def test_the_package_has_what_a_node_needs(self):
        listed = run("dpkg-deb", "-c", self.deb)
        entries = {line.split(None, 5)[5].split(" ->")[0]: line.split(None, 2)[:2] for line in listed.splitlines()}
        self.assertEqual({"root/root"}, {owner for _, owner in entries.values()})
        for path, mode in (("usr/bin/nomadctl", "-rwxr-xr-x"), ("usr/libexec/nomadctl/nomadctl-executor", "-rwxr-xr-x"),
                           ("usr/libexec/nomadctl/nomadctl-artifact", "-rwxr-xr-x"),
                           ("usr/libexec/nomadctl/nomadctl-plugin-host", "-rwxr-xr-x"),
                           ("usr/libexec/nomadctl/nomadctl-node-sim", "-rwxr-xr-x"),
                           ("lib/systemd/system/nomadctl.service", "-rw-r--r--"), ("etc/nomad.d/nomadctl.hcl", "-rw-r-----"),
                           ("usr/lib/sysusers.d/nomadctl.conf", "-rw-r--r--"), ("usr/lib/tmpfiles.d/nomadctl.conf", "-rw-r--r--"),
                           ("usr/share/bash-completion/completions/nomadctl", "-rw-r--r--"),
                           ("usr/share/zsh/vendor-completions/_nomadctl", "-rw-r--r--"),
                           ("usr/share/fish/vendor_completions.d/nomadctl.fish", "-rw-r--r--"),
                           ("usr/share/man/man1/nomadctl.1.gz", "-rw-r--r--"),
                           ("usr/share/man/man1/nomadctl-job-run.1.gz", "-rw-r--r--"),
                           ("usr/share/doc/nomadctl/copyright", "-rw-r--r--"),
                           ("usr/share/doc/nomadctl/changelog.gz", "-rw-r--r--")):
            self.assertEqual(mode, entries.get("./" + path, [None])[0], path)
        self.assertFalse([path for path in entries if "/local/" in path or "/include/" in path])

    def test_its_fields_say_what_it_needs_and_keeps(self):
        fields = run("dpkg-deb", "-f", self.deb)
        self.assertRegex(fields, r"(?m)^Depends: .*\blibc6 \(")
        self.assertRegex(fields, r"(?m)^Depends: .*\blibcaf-core")
        self.assertRegex(fields, r"(?m)^Version: 1\.0\.0$")
        self.assertEqual("/etc/nomad.d/nomadctl.hcl\n", run("dpkg-deb", "-I", self.deb, "conffiles"))
        for script in ("postinst", "prerm", "postrm"):
            run("sh", "-n", "/dev/stdin", input=run("dpkg-deb", "-I", self.deb, script))

    def test_the_same_build_makes_the_same_bytes(self):
        again = make(tempfile.mkdtemp(dir=self.folder), "1.0.0", "deb")
        self.assertGreaterEqual(len(again), 2)
        for path in again:
            run("cmp", path, os.path.join(self.folder, os.path.basename(path)))

    @unittest.skipUnless(shutil.which("lintian") and os.environ.get("NOMADCTL_NIGHTLY"), "needs lintian and a night")
    def test_lintian_finds_no_errors(self):
        run("lintian", "--fail-on", "error", "--suppress-tags", "unstripped-binary-or-object", self.deb)

    def test_an_upgrade_restarts_no_task(self):
        tree = self.unpacked(self.deb, "root")
        with open(os.path.join(tree, "lib/systemd/system/nomadctl.service")) as f:
            unit = dict(line.rstrip("\n").split("=", 1) for line in f if re.match(r"\w+=", line))
        self.assertEqual(("notify", "process"), (unit["Type"], unit["KillMode"]))
        self.assertEqual(["/usr/bin/nomadctl", "agent", "-config", "/etc/nomad.d"], shlex.split(unit["ExecStart"]))
        agent = harness.Agent()
        self.addCleanup(agent.destroy)
        agent.binary = os.path.join(tree, "usr/bin/nomadctl")
        systemd = ServiceManager(agent.dir, watchdog=int(unit["WatchdogSec"]))
        self.addCleanup(systemd.close)
        agent.environment = systemd.environment
        agent.start()
        systemd.wait_for("READY")
        agent.register(shell_job("steady", "echo $$ >>local/pids; exec sleep 1000"))
        agent.wait_for_allocs("steady", "running")
        before = wait_until(lambda: agent.starts("steady"))

        newer = self.unpacked(self.deb, "newer")
        for folder, _, names in os.walk(newer):  # as dpkg does: beside it, and then in its place
            for name in names:
                target = os.path.join(tree, os.path.relpath(os.path.join(folder, name), newer))
                shutil.copy2(os.path.join(folder, name), target + ".dpkg-new", follow_symlinks=False)
                os.replace(target + ".dpkg-new", target)
        agent.stop(60)
        systemd.wait_for("STOPPING")
        agent.start()
        systemd.wait_for("READY")
        agent.wait_for_allocs("steady", "running")
        self.assertEqual(before, agent.starts("steady"))
        os.kill(int(next(iter(before.values()))[0]), 0)

    def test_the_tarball_brings_its_libraries(self):
        path = next(path for path in self.made if path.endswith(".tar.gz"))
        target = os.path.join(self.folder, "tarball")
        with tarfile.open(path) as tar:
            tar.extractall(target)
        top = os.path.join(target, os.listdir(target)[0])
        for program in ("bin/nomadctl", "libexec/nomadctl/nomadctl-artifact", "libexec/nomadctl/nomadctl-plugin-host"):
            libraries = re.findall(r"(\S+) => (\S+)", run("ldd", os.path.join(top, program)))
            foreign = {name for name, where in libraries if not os.path.realpath(where).startswith(os.path.realpath(top))}
            self.assertLessEqual(foreign, OF_THE_SYSTEM, program)
        self.assertIn("nomadctl v", run(os.path.join(top, "bin/nomadctl"), "version"))

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_the_containers_file_system_is_complete(self):
        path = next(path for path in self.made if "-rootfs-" in path)
        target = os.path.join(self.folder, "rootfs")
        with tarfile.open(path) as tar:
            tar.extractall(target)
        self.assertIn("nomadctl v", run("chroot", target, "/usr/bin/nomadctl", "version"))
        self.assertIn("Configuration is valid", run("chroot", target, "/usr/bin/nomadctl", "config", "validate", "/etc/nomad.d"))
        for helper in os.listdir(os.path.join(target, "usr/libexec/nomadctl")):
            path = "/usr/libexec/nomadctl/" + helper
            if "NEEDED" in run("readelf", "-d", target + path):
                self.assertNotIn("not found", run("chroot", target, "/lib64/ld-linux-x86-64.so.2", "--list", path))


if __name__ == "__main__":
    harness.main()
