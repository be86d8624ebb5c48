"""A place of its own for an engine: a network namespace in which nothing but a loopback interface is, and mounts that
nobody else sees. To be imported before `harness`, which claims ports where it is imported.
"""
import os
import shutil
import subprocess
import sys

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BUSYBOX = shutil.which("busybox", path=PATH)


def lacks():
    """Why these tests can't run here; empty when they can."""
    if os.geteuid() != 0:
        return "only root can run an engine"
    for program in ("dockerd", "containerd", "runc", "ip", "iptables"):
        if not shutil.which(program, path=PATH):
            return f"{program} is not installed (docker.io)"
    if not BUSYBOX or "not a dynamic executable" not in subprocess.run(["ldd", BUSYBOX], capture_output=True, text=True).stderr:
        return "a static busybox is not installed (busybox-static)"
    return ""


def move_apart():
    """Starts this program once more, where nothing but a loopback interface is."""
    os.environ["NOMADCTL_TEST_APART"] = "1"
    prepare = ("ip link set lo up && for d in /run/netns /var/lib/cni; do mkdir -p $d && mount -t tmpfs none $d || exit 1; done"
               ' && exec "$0" "$@"')
    os.execvp("unshare", ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", prepare,
                          sys.executable, *sys.argv])
