"""The jobs of scenarios: a step says what differs from a small job that runs for an hour."""
import copy
import re

DURATIONS = {"MinHealthyTime", "HealthyDeadline", "ProgressDeadline", "Delay", "Interval", "MaxDelay", "Stagger",
             "KillTimeout", "MaxClientDisconnect", "StopAfterClientDisconnect", "ShutdownDelay", "Timeout", "TTL"}
UNITS = {"ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3600_000_000_000}

TASK = {
    "Name": "t", "Driver": "mock_driver", "Config": {"run_for": "1h"}, "KillTimeout": "1s",
    "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1},
    "Resources": {"CPU": 10, "MemoryMB": 10},
}
GROUP = {
    "Name": "g", "Count": 1, "EphemeralDisk": {"SizeMB": 10},
    "RestartPolicy": {"Attempts": 0, "Mode": "fail", "Interval": "10s", "Delay": "0s"},
}
OF_SERVICE = {
    "Update": {"MaxParallel": 1, "MinHealthyTime": "200ms", "HealthyDeadline": "20s", "ProgressDeadline": "30s",
               "HealthCheck": "task_states"},
    "Migrate": {"MaxParallel": 1, "MinHealthyTime": "200ms", "HealthyDeadline": "20s", "HealthCheck": "task_states"},
}
JOB = {"Type": "service", "Datacenters": ["*"]}


def overlaid(base, over):
    """`base` with what `over` has: members of objects one by one, null takes one away, the rest as a whole."""
    if not isinstance(base, dict) or not isinstance(over, dict):
        return copy.deepcopy(over)
    merged = dict(base)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = overlaid(merged.get(key), value)
    return merged


def in_nanoseconds(value, key=""):
    """Durations are written as in job files."""
    if isinstance(value, dict):
        return {name: in_nanoseconds(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [in_nanoseconds(each) for each in value]
    if key in DURATIONS and isinstance(value, str) and (found := re.fullmatch(r"(-?\d+)(ms|s|m|h)", value)):
        return int(found[1]) * UNITS[found[2]]
    return value


def group_of(name, kind, step, over):
    """`over` is the group's own part of the step; its "task" goes to each of its tasks."""
    base = overlaid(GROUP, OF_SERVICE if kind == "service" else {})
    group = overlaid(overlaid(base, step.get("group", {})), {key: value for key, value in over.items() if key != "task"})
    group["Name"] = name
    task = overlaid(overlaid(TASK, step.get("task", {})), over.get("task", {}))
    group["Tasks"] = [overlaid(task, each) for each in group.get("Tasks", [{}])]
    return group


def job_of(step, job_id):
    """The job in the form of the API: "job", "group" and "task" of the step are laid over the job, all its groups and
    all their tasks; "groups" has the groups by name, each with its own part."""
    job = overlaid(JOB, step.get("job", {}))
    groups = step.get("groups", {"g": {}})
    job.update(ID=job_id, Name=job_id,
               TaskGroups=[group_of(name, job["Type"], step, over) for name, over in groups.items() if over is not None])
    return in_nanoseconds(job)
