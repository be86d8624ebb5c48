"""What is compared: the state of a scenario's jobs without ids, times and whatever hangs on them.

Of what both programs choose at random (a node among equals) only what a step asks for is taken.
"""
import json
import re

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
CHILD = re.compile(r"(/(?:periodic|dispatch))-[0-9a-f-]+")
METRICS = ("NodesEvaluated", "NodesFiltered", "NodesInPool", "NodesAvailable", "ClassFiltered", "ConstraintFiltered",
           "NodesExhausted", "ClassExhausted", "DimensionExhausted", "QuotaExhausted", "ResourcesExhausted",
           "CoalescedFailures")


def full(value):
    """Without what is empty: programs differ in whether they write nulls, zeros and empty lists."""
    if isinstance(value, dict):
        found = {key: full(each) for key, each in value.items()}
        return {key: each for key, each in found.items() if each not in (None, {}, [], "", 0, False)}
    if isinstance(value, list):
        return [full(each) for each in value]
    return value


def in_order(value):
    return json.dumps(value, sort_keys=True)


# Whether an evaluation meets another one of its job is a matter of time.
OVERTAKEN = ("canceled after more recent eval was processed", "existing blocked evaluation exists")
OF_A_RUN = {"Time", "CreateIndex", "ModifyIndex", "JobModifyIndex", "JobCreateIndex", "EvalCreateIndex", "CreateTime",
            "ModifyTime", "SubmitTime", "AllocModifyIndex", "JobSpecModifyIndex", "SnapshotIndex", "RequireProgressBy",
            "WaitUntil", "AllocationTime", "Timestamp"}


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key not in OF_A_RUN}
    return [without_times(each) for each in value] if isinstance(value, list) else value


class Names:
    """Replaces what is of one run by what is of the scenario."""

    def __init__(self, prefix, nodes, classes):
        self.prefix, self.nodes, self.classes = prefix, nodes, classes

    def class_of(self, node_id):
        return self.classes.get(self.nodes.get(node_id), "")

    def of(self, value):
        if isinstance(value, dict):
            return {self.of(key): self.of(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.of(each) for each in value]
        if not isinstance(value, str):
            return value
        named = UUID.sub(lambda found: self.nodes.get(found[0], "<id>"), value.replace(self.prefix, ""))
        return CHILD.sub(r"\1", named)


def metrics_of(metric):
    resources = {task: {key: used[key] for key in ("CPU", "Cores", "MemoryMB") if used.get(key)}
                 for task, used in (metric.get("ResourcesExhausted") or {}).items()}
    return full({**{name: metric.get(name) for name in METRICS}, "ResourcesExhausted": resources})


def failures_of(groups):
    return {group: metrics_of(metric) for group, metric in (groups or {}).items()}


def scores_of(metric, names):
    """By the class of the node, because which of two equal nodes is taken is chance."""
    return sorted(({"class": names.class_of(entry["NodeID"]),
                    **{name: round(score, 6) for name, score in
                       {**(entry.get("Scores") or {}), "norm": entry["NormScore"]}.items() if score}}
                   for entry in metric.get("ScoreMetaData") or []), key=in_order)


def transition_of(alloc):
    return sorted(name for name, value in (alloc.get("DesiredTransition") or {}).items() if value)


def alloc_of(alloc, job_id, is_deployed):
    health = alloc.get("DeploymentStatus") or {}
    return full({
        "name": alloc["Name"][len(job_id) + 1:] if alloc["Name"].startswith(job_id) else alloc["Name"],
        "version": str(alloc["JobVersion"]),
        "desired": alloc["DesiredStatus"],
        "why": alloc.get("DesiredDescription"),
        "client": alloc["ClientStatus"],
        "says": alloc.get("ClientDescription"),
        "canary": health.get("Canary"),
        # Which of the two is first with a task that fails at once, its end or its health, is a matter of time.
        "health": None if alloc["ClientStatus"] == "failed" or not is_deployed else
                  {True: "healthy", False: "unhealthy"}.get(health.get("Healthy")),
        "replaced": bool(alloc.get("NextAllocation")),
        "reschedules": len((alloc.get("RescheduleTracker") or {}).get("Events") or []),
        "follow-up": bool(alloc.get("FollowupEvalID")),
        "transition": transition_of(alloc),
        "preempted by another": bool(alloc.get("PreemptedByAllocation")),
        "preempted others": len(alloc.get("PreemptedAllocations") or []),
    })


def status_of(evaluation):
    """A blocked evaluation is pending for a moment whenever another job has made room that does not help it."""
    is_tried_again = evaluation["TriggeredBy"] == "queued-allocs" and evaluation["Status"] == "pending"
    return "blocked" if is_tried_again else evaluation["Status"]


def evals_of(evals):
    """By trigger and status, because how many there are is a matter of time."""
    found = {}
    for each in evals:
        if (each.get("StatusDescription") or "").startswith(OVERTAKEN):
            continue
        status = status_of(each) + (f" ({each['StatusDescription']})" if each.get("StatusDescription") else "")
        entry = found.setdefault(f"{each['TriggeredBy']}: {status}", {"priority": [], "queued": [], "failed": [],
                                                                     "blocks": False, "delayed": False})
        entry["blocks"] = entry["blocks"] or bool(each.get("BlockedEval"))
        entry["delayed"] = entry["delayed"] or not (each.get("WaitUntil") or "0001").startswith("0001")
        for key, value in (("priority", each["Priority"]), ("failed", failures_of(each.get("FailedTGAllocs"))),
                           ("queued", full(each.get("QueuedAllocations") or {}))):
            if value and value not in entry[key]:
                entry[key].append(value)
    for entry in found.values():
        entry["priority"].sort()
        entry["queued"].sort(key=in_order)
        entry["failed"].sort(key=in_order)
    return full(found)


def fields_of(evals, world):
    """How evaluations refer to each other, to nodes and deployments, and which nodes they know to be fit."""
    triggers = {each["ID"]: each["TriggeredBy"] for each in evals}
    classes = {}
    for node_id, name in world.node_ids.items():
        classes[(world.read(f"/v1/node/{node_id}") or {}).get("ComputedClass")] = name
    found = []
    for each in evals:
        if (each.get("StatusDescription") or "").startswith(OVERTAKEN):
            continue
        shown = full({
            "trigger": each["TriggeredBy"], "status": status_of(each), "type": each["Type"],
            "says": each.get("StatusDescription"), "priority": each["Priority"], "wait": each.get("Wait"),
            "after": triggers.get(each.get("PreviousEval")), "next": triggers.get(each.get("NextEval")),
            "blocks": triggers.get(each.get("BlockedEval")), "of a node": bool(each.get("NodeID")),
            "of a deployment": bool(each.get("DeploymentID")), "escaped": each.get("EscapedComputedClass"),
            "fit": sorted(classes.get(key, "?") for key, fit in (each.get("ClassEligibility") or {}).items() if fit),
            "unfit": sorted(classes.get(key, "?") for key, fit in (each.get("ClassEligibility") or {}).items() if not fit),
            "queued": each.get("QueuedAllocations"),
        })
        if shown not in found:
            found.append(shown)
    return sorted(found, key=in_order)


def deployment_of(deployment):
    groups = {name: full({
        "canaries desired": state["DesiredCanaries"], "canaries": len(state.get("PlacedCanaries") or []),
        "total": state["DesiredTotal"], "placed": state["PlacedAllocs"], "healthy": state["HealthyAllocs"],
        "unhealthy": state["UnhealthyAllocs"], "promoted": state["Promoted"], "auto promote": state.get("AutoPromote"),
        "auto revert": state["AutoRevert"],
    }) for name, state in (deployment.get("TaskGroups") or {}).items()}
    return {"version": deployment["JobVersion"], "status": deployment["Status"],
            "says": deployment["StatusDescription"], "groups": groups}


def summary_of(summary):
    return {group: full(counts) for group, counts in ((summary or {}).get("Summary") or {}).items()}


class JobView:
    """Everything that the server says about a job, read once."""

    def __init__(self, world, namespace, job_id):
        self.id = job_id
        query = f"namespace={namespace}"
        path = "/v1/job/" + job_id.replace("/", "%2F")
        self.job = world.read(f"{path}?{query}")
        self.allocs = world.read(f"{path}/allocations?all=true&{query}") or []
        self.evals = world.read(f"{path}/evaluations?{query}") or []
        self.deployments = world.read(f"{path}/deployments?all=true&{query}") or []
        self.summary = world.read(f"{path}/summary?{query}") if self.job else None
        versions = world.read(f"{path}/versions?{query}") if self.job else None
        self.versions = (versions or {}).get("Versions") or []

    def counts(self, status="ClientStatus"):
        found = {}
        for alloc in self.allocs:
            found[alloc[status]] = found.get(alloc[status], 0) + 1
        return found

    def blocked(self):
        return [each for each in self.evals if status_of(each) == "blocked"]

    def latest_deployment(self):
        return max(self.deployments, key=lambda each: each["CreateIndex"], default=None)

    def is_moving(self):
        """Whether more is about to happen without anybody's doing."""
        pending = any(status_of(each) == "pending" and (each.get("WaitUntil") or "0001").startswith("0001")
                      for each in self.evals)
        starting = any(alloc["DesiredStatus"] == "run" and alloc["ClientStatus"] == "pending" for alloc in self.allocs)
        ending = any(alloc["DesiredStatus"] != "run" and alloc["ClientStatus"] in ("running", "pending")
                     for alloc in self.allocs)
        return pending, starting, ending, self.is_judging(), self.is_about_to_succeed()

    def is_deployed(self, alloc):
        """Whether a deployment of its version has its group. Of others it is a matter of time when health is told."""
        return any(each["JobVersion"] == alloc["JobVersion"] and alloc["TaskGroup"] in (each.get("TaskGroups") or {})
                   for each in self.deployments)

    def is_judging(self):
        """Whether the health of an allocation of the running deployment is still to be told."""
        latest = self.latest_deployment() or {}
        by_hand = any((group.get("Update") or {}).get("HealthCheck") == "manual"
                      for group in (self.job or {}).get("TaskGroups") or [])
        return latest.get("Status") == "running" and not by_hand and any(
            alloc["ClientStatus"] == "running" and alloc["DesiredStatus"] == "run"
            and alloc["JobVersion"] == latest["JobVersion"] and alloc["TaskGroup"] in (latest.get("TaskGroups") or {})
            and (alloc.get("DeploymentStatus") or {}).get("Healthy") is None for alloc in self.allocs)

    def is_about_to_succeed(self):
        """The real one waits a second before it looks at what has become healthy."""
        latest = self.latest_deployment() or {}
        groups = (latest.get("TaskGroups") or {}).values()
        return latest.get("Status") == "running" and all(
            group["HealthyAllocs"] >= max(group["DesiredTotal"], group["DesiredCanaries"])
            and (group["Promoted"] or not group["DesiredCanaries"]) for group in groups)

    def shown(self, names, world, wants):
        """The observation. `wants` are the things that not every scenario compares."""
        if self.job is None:
            shown = {"job": "none"}
        else:
            shown = {"job": full({"status": self.job["Status"], "says": self.job.get("StatusDescription"),
                                  "version": str(self.job["Version"]), "stopped": self.job["Stop"],
                                  "stable": [each["Version"] for each in self.versions if each["Stable"]],
                                  "versions": len(self.versions)}),
                     "summary": summary_of(self.summary)}
        shown["allocs"] = sorted((alloc_of(alloc, self.id, self.is_deployed(alloc)) for alloc in self.allocs),
                                 key=alloc_order)
        deployments = sorted(self.deployments, key=lambda each: each["CreateIndex"])
        shown["deployments"] = [deployment_of(each) for each in deployments]
        shown["evaluations"] = evals_of(self.evals)
        if "nodes" in wants:
            shown["nodes"] = nodes_of(self.allocs)
        if "details" in wants or "scores" in wants:
            whole = [world.read(f"/v1/allocation/{alloc['ID']}") for alloc in self.allocs]
            shown["details"] = sorted((details_of(each, self.id, names, "scores" in wants) for each in whole if each),
                                      key=alloc_order)
        if "alike" in wants:
            shown["allocs"] = without_index(shown["allocs"])
            shown["details"] = without_index(shown.get("details", []))
        return names.of(full(shown))


def without_index(shown):
    """For scenarios in which it is chance what becomes of which of several equal allocations."""
    return sorted(({**each, "name": each["name"].partition("[")[0]} for each in shown), key=alloc_order)


def alloc_order(shown):
    return shown["name"], shown["version"], in_order(shown)


def nodes_of(allocs):
    """For each node with some: the number of allocations that are to run there."""
    found = {}
    for alloc in allocs:
        if alloc["DesiredStatus"] == "run" and alloc["ClientStatus"] in ("pending", "running", "unknown"):
            key = f"{alloc['TaskGroup']} on {alloc['NodeName']}"
            found[key] = found.get(key, 0) + 1
    return dict(sorted(found.items()))


def details_of(alloc, job_id, names, with_scores):
    resources = (alloc.get("AllocatedResources") or {}).get("Shared") or {}
    tasks = (alloc.get("AllocatedResources") or {}).get("Tasks") or {}
    shown = {
        "name": alloc["Name"][len(job_id) + 1:] if alloc["Name"].startswith(job_id) else alloc["Name"],
        "version": str(alloc["Job"]["Version"]),
        "states": [each["Value"] for each in alloc.get("AllocStates") or []],
        "follows": bool(alloc.get("PreviousAllocation")),
        "static ports": sorted(port["Value"] for port in resources.get("Ports") or [] if port["Value"] < 20000),
        "ports": sorted(port["Label"] for port in resources.get("Ports") or []),
        "memory": {task: [each["Memory"]["MemoryMB"], each["Memory"]["MemoryMaxMB"]] for task, each in tasks.items()
                   if each["Memory"].get("MemoryMaxMB")},
        "cores": {task: len((each.get("Cpu") or {}).get("ReservedCores") or []) for task, each in tasks.items()},
        "tasks": {task: {"state": state["State"], "failed": state["Failed"], "restarts": state["Restarts"]}
                  for task, state in (alloc.get("TaskStates") or {}).items()},
        "reschedule delays": [each["Delay"] // 1_000_000 for each in
                              (alloc.get("RescheduleTracker") or {}).get("Events") or []],
    }
    if with_scores:
        shown["class"] = names.class_of(alloc["NodeID"])
        shown["scores"] = scores_of(alloc.get("Metrics") or {}, names)
        shown["metrics"] = metrics_of(alloc.get("Metrics") or {})
    return full(shown)


def node_shown(node):
    drain = node.get("DrainStrategy") or {}
    return full({"status": node["Status"], "eligibility": node["SchedulingEligibility"],
                 "drains": bool(node["Drain"]),
                 "ignores system jobs": drain.get("IgnoreSystemJobs")})


def plan_shown(plan):
    """What a dry run answers."""
    annotations = plan.get("Annotations") or {}
    diff = plan.get("Diff") or {}
    return full({
        "changes": {group: full(counts) for group, counts in (annotations.get("DesiredTGUpdates") or {}).items()},
        "preempts": len(annotations.get("PreemptedAllocs") or []),
        "failed": failures_of(plan.get("FailedTGAllocs")),
        "diff": diff.get("Type"),
        "groups": {group["Name"]: {"type": group["Type"], "updates": group.get("Updates"),
                                   "tasks": {task["Name"]: {"type": task["Type"], "notes": task.get("Annotations")}
                                             for task in group.get("Tasks") or []}}
                   for group in diff.get("TaskGroups") or []},
        "evaluations": sorted({each["TriggeredBy"] for each in plan.get("CreatedEvals") or []}),
        "launches": bool(plan.get("NextPeriodicLaunch")) and not plan["NextPeriodicLaunch"].startswith("0001"),
        "warnings": plan.get("Warnings"),
    })
