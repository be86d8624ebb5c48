"""What the kernel has of an agent's tasks: processes, executors, control groups. The API is not asked."""
import collections
import glob
import os
import re

OF_AN_ALLOC = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def environment_of(pid, directory):
    """Of a process of this directory's agent; of others nothing."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as f:
            text = f.read()
    except OSError:
        return {}
    if directory.encode() not in text:
        return {}
    return dict(word.split("=", 1) for word in text.decode(errors="replace").split("\0") if "=" in word)


def tasks_of(agent):
    """The processes of tasks, by allocation."""
    found = collections.defaultdict(list)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        environment = environment_of(pid, agent.data_dir)
        if environment.get("NOMAD_ALLOC_DIR", "").startswith(agent.data_dir + "/"):
            found[environment["NOMAD_ALLOC_ID"]].append(int(pid))
    return found


def executors_of(agent):
    """The allocations that have an executor, by its process."""
    found = {}
    for name in glob.glob("/proc/[0-9]*/fd/3"):
        try:
            place = os.readlink(name)
        except OSError:
            continue
        if place.startswith(os.path.join(agent.data_dir, "client", "executors") + "/"):
            found[int(name.split("/")[2])] = os.path.basename(place).split(".")[0]
    return found


def groups_of(allocs):
    """Control groups of these allocations that have processes. Those of others, which killed agents leave by the hundred, are
    not looked into."""
    found = []
    for folder, inner, names in os.walk("/sys/fs/cgroup"):
        inner[:] = [name for name in inner if not OF_AN_ALLOC.match(name) or name.split(".")[0] in allocs]
        if os.path.basename(folder).split(".")[0] in allocs and "cgroup.procs" in names:
            try:
                with open(os.path.join(folder, "cgroup.procs")) as f:
                    found += [folder] if f.read() else []
            except OSError:
                pass  # it has just been removed
    return found
