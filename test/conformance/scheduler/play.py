"""Plays a scenario, step by step, and says what was seen.

A step is an object whose first member is what to do (a method of `Play` below, with "-" for "_") and with
what. README.md has them all.
"""
import base64
import inspect
import re
import time

import jobs
import observe

PATIENCE = 60  # seconds that something may take which is to come
IDS = re.compile(r"\$(node|alloc|deployment|eval)\(([^,)]+)(?:,([^)]*))?\)")
CALM = 1.0  # seconds without any change after which nothing more is taken to come


class Play:
    def __init__(self, world, name, scenario):
        self.world, self.scenario = world, scenario
        self.prefix = name.replace("/", "-").replace("_", "-") + "-"
        self.names = observe.Names(self.prefix, world.node_ids, world.classes)
        self.steps = {}  # by job: the step that described it last
        self.spaces = {}  # by job: its namespace
        self.made = []  # namespaces and pools, as paths
        self.seen = {}
        self.late = []  # what did not come

    def run(self):
        """What was seen, by step."""
        for number, step in enumerate(self.scenario["steps"], 1):
            verb = next(iter(step))
            seen = getattr(self, "do_" + verb.replace("-", "_"))(**self.arguments(step))
            if seen:
                target = step[verb] if isinstance(step[verb], str) else ""
                self.seen[f"{number} {verb} {target}".strip()] = self.names.of(seen)
        return self.seen

    @staticmethod
    def arguments(step):
        verb = next(iter(step))
        return {"what": step[verb], **{key.replace("-", "_"): value for key, value in step.items() if key != verb}}

    def clean_up(self):
        for name, space in self.spaces.items():
            for child in self.children(name):
                self.world.ask("DELETE", f"/v1/job/{child.replace('/', '%2F')}?purge=true&namespace={space}")
            self.world.ask("DELETE", f"/v1/job/{self.id_of(name)}?purge=true&namespace={space}")
        for path in self.made:
            self.world.ask("DELETE", path)

    # -- names -------------------------------------------------------------------------------------

    def id_of(self, name):
        return self.prefix + name

    def filled(self, value):
        """"@x" is the scenario's own x, "$alloc(web,g[0])" an id."""
        if isinstance(value, dict):
            return {key: self.filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        if not isinstance(value, str):
            return value
        return IDS.sub(self.id_for, value).replace("@", self.prefix)

    def id_for(self, found):
        """Of the newest deployment or evaluation of a job, of its newest allocation of a name, or of a node."""
        kind, name, which = found.groups()
        if kind == "node":
            return self.world.node_id(name)
        if kind == "alloc":
            return self.alloc(name, which)["ID"]
        view = self.view(name)
        if kind == "deployment":
            return view.latest_deployment()["ID"]
        return max((each for each in view.evals if which in (None, each["TriggeredBy"])),
                   key=lambda each: each["CreateIndex"])["ID"]

    def space_of(self, name):
        return self.spaces.get(name, "default")

    def view(self, name):
        return observe.JobView(self.world, self.space_of(name), self.id_of(name))

    def children(self, name):
        listed = self.world.read(f"/v1/jobs?prefix={self.id_of(name)}/&namespace={self.space_of(name)}") or []
        listed.sort(key=lambda job: job["CreateIndex"])
        return [job["ID"] for job in listed if job.get("ParentID") == self.id_of(name)]

    # -- requests ----------------------------------------------------------------------------------

    def ask(self, method, path, body=None, shown=()):
        """What of the answer is compared: the members `shown`, or the error."""
        answer = self.world.ask(method, path, body)
        if answer.status != 200:
            return {"status": answer.status, "error": answer.body.strip()}
        if not shown:
            return {}
        found = answer.json if answer.body.strip() else {}
        of_each = [{name: each.get(name) for name in shown} for each in (found if isinstance(found, list) else [found])]
        return observe.without_times(observe.full(of_each if isinstance(found, list) else of_each[0]))

    def of_job(self, name, path, body=None, method="PUT", **more):
        return self.ask(method, f"/v1/job/{self.id_of(name)}{path}?namespace={self.space_of(name)}", body, **more)

    # -- jobs --------------------------------------------------------------------------------------

    def do_run(self, what, enforce=None, **step):
        """Registers a job; `change` the same job with differences."""
        self.steps[what] = step
        job = self.filled(jobs.job_of(step, self.id_of(what)))
        self.spaces[what] = job.get("Namespace", "default")
        body = {"Job": job}
        if enforce is not None:
            body.update(EnforceIndex=True, JobModifyIndex=enforce)
        return self.ask("PUT", f"/v1/jobs?namespace={self.spaces[what]}", body, shown=("Warnings",))

    def do_change(self, what, **step):
        return self.do_run(what, **jobs.overlaid(self.steps[what], step))

    def do_plan(self, what, **step):
        """A dry run of the job with these differences."""
        if what in self.steps:
            step = jobs.overlaid(self.steps[what], step)
        job = self.filled(jobs.job_of(step, self.id_of(what)))
        space = job.get("Namespace", "default")
        self.spaces.setdefault(what, space)
        answer = self.world.ask("PUT", f"/v1/job/{job['ID']}/plan?namespace={space}", {"Job": job, "Diff": True})
        if answer.status != 200:
            return {"status": answer.status, "error": answer.body.strip()}
        return observe.plan_shown(answer.json)

    def do_stop(self, what, purge=False):
        return self.of_job(what, "", method="DELETE") if not purge else self.ask(
            "DELETE", f"/v1/job/{self.id_of(what)}?purge=true&namespace={self.space_of(what)}")

    def do_scale(self, what, count=None, group="g", message="", error=False):
        return self.of_job(what, "/scale", {"Target": {"Group": group}, "Count": count, "Message": message,
                                            "Error": error})

    def do_dispatch(self, what, meta=None, payload=None, size=1):
        """`size`: how often the payload is repeated."""
        encoded = base64.b64encode((payload * size).encode()).decode() if payload is not None else None
        return self.of_job(what, "/dispatch", {"Meta": meta or {}, "Payload": encoded})

    def do_force(self, what):
        return self.of_job(what, "/periodic/force")

    def do_evaluate(self, what, force=False):
        return self.of_job(what, "/evaluate", {"JobID": self.id_of(what), "EvalOptions": {"ForceReschedule": force}})

    def do_revert(self, what, to, prior=None):
        return self.of_job(what, "/revert", {"JobID": self.id_of(what), "JobVersion": to, "EnforcePriorVersion": prior})

    def do_stable(self, what, version, to=True):
        return self.of_job(what, "/stable", {"JobID": self.id_of(what), "JobVersion": version, "Stable": to})

    def do_evals(self, what):
        """The fields of its evaluations, each kind once."""
        return observe.fields_of(self.view(what).evals, self.world)

    # -- deployments -------------------------------------------------------------------------------

    def of_deployment(self, name, action, body):
        latest = self.view(name).latest_deployment()
        if latest is None:
            return {"error": "there is no deployment"}
        return self.ask("PUT", f"/v1/deployment/{action}/{latest['ID']}", {"DeploymentID": latest["ID"], **body})

    def do_promote(self, what, groups=None):
        return self.of_deployment(what, "promote", {"Groups": groups} if groups else {"All": True})

    def do_pause(self, what):
        return self.of_deployment(what, "pause", {"Pause": True})

    def do_resume(self, what):
        return self.of_deployment(what, "pause", {"Pause": False})

    def do_fail(self, what):
        return self.of_deployment(what, "fail", {})

    def do_unblock(self, what):
        return self.of_deployment(what, "unblock", {})

    def do_health(self, what, healthy=(), unhealthy=()):
        """Sets the health of the newest allocations of these names ("g[0]")."""
        found = {kind: [self.alloc(what, name)["ID"] for name in names]
                 for kind, names in (("Healthy", healthy), ("Unhealthy", unhealthy))}
        return self.of_deployment(what, "allocation-health", {f"{kind}AllocationIDs": ids for kind, ids in found.items()})

    # -- allocations -------------------------------------------------------------------------------

    def alloc(self, name, which):
        job_id = self.id_of(name)
        found = [alloc for alloc in self.view(name).allocs if alloc["Name"] == f"{job_id}.{which}"]
        return max(found, key=lambda alloc: alloc["CreateIndex"])

    def do_stop_alloc(self, what, alloc="g[0]"):
        return self.ask("PUT", f"/v1/allocation/{self.alloc(what, alloc)['ID']}/stop")

    def do_restart_alloc(self, what, alloc="g[0]"):
        return self.ask("PUT", f"/v1/client/allocation/{self.alloc(what, alloc)['ID']}/restart", {})

    # -- nodes -------------------------------------------------------------------------------------

    def do_eligibility(self, what, to):
        return self.ask("PUT", f"/v1/node/{self.world.node_id(what)}/eligibility", {"Eligibility": to})

    def do_drain(self, what, deadline="1h", ignore_system=False, meta=None):
        spec = jobs.in_nanoseconds({"Delay": deadline})["Delay"]
        return self.ask("PUT", f"/v1/node/{self.world.node_id(what)}/drain",
                        {"DrainSpec": {"Deadline": spec, "IgnoreSystemJobs": ignore_system}, "Meta": meta})

    def do_undrain(self, what, eligible=True):
        return self.ask("PUT", f"/v1/node/{self.world.node_id(what)}/drain",
                        {"DrainSpec": None, "MarkEligible": eligible})

    def do_kill(self, what):
        self.world.kill(what)

    def do_start(self, what):
        self.world.start_again(what)

    def do_freeze(self, what):
        self.world.freeze(what)

    def do_thaw(self, what):
        self.world.thaw(what)

    def do_node(self, what, status=None, eligibility=None, drained=None):
        """Waits for what a node is to become, and shows it."""
        def there():
            node = self.world.read(f"/v1/node/{self.world.node_id(what)}")
            return (status in (None, node["Status"]) and eligibility in (None, node["SchedulingEligibility"])
                    and drained in (None, not node["Drain"]))
        self.wait(there, f"node {what}")
        return observe.node_shown(self.world.read(f"/v1/node/{self.world.node_id(what)}"))

    # -- what is not a job's -----------------------------------------------------------------------

    def do_pool(self, what, **members):
        path = f"/v1/node/pool/{self.prefix}{what}"
        self.made.append(path)
        return self.ask("PUT", "/v1/node/pools", {"Name": self.prefix + what, **members})

    def do_namespace(self, what, **members):
        self.made.append(f"/v1/namespace/{self.prefix}{what}")
        return self.ask("PUT", f"/v1/namespace/{self.prefix}{what}", {"Name": self.prefix + what, **members})

    def do_scheduler(self, what):
        return self.ask("PUT", "/v1/operator/scheduler/configuration", what)

    def do_http(self, what, path, body=None, shown=()):
        """Any request: method, path and the members of the answer that are compared."""
        return self.ask(what, self.filled(path), self.filled(body), shown)

    # -- waiting and seeing ------------------------------------------------------------------------

    def wait(self, condition, what):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if condition():
                return True
            time.sleep(0.1)
        self.late.append(what)
        return False

    def do_sleep(self, what):
        time.sleep(what)

    def do_until(self, what, **wanted):
        """Waits until all of `wanted` holds of the job: numbers of allocations by client status, "stopped", "blocked",
        "children", "job" (its status), "deployment" (the newest one's status), "healthy", "follow-up"."""
        last = {}

        def holds():
            last.update(self.facts(what, wanted))
            return all(last.get(name) == value for name, value in wanted.items())
        if self.wait(holds, f"{what}: {wanted}"):
            return None
        self.late[-1] += f" but {last}"
        return {"late": {name: last.get(name) for name in wanted}}

    def facts(self, name, wanted):
        view = self.view(name)
        latest = view.latest_deployment() or {}
        to_run = [alloc for alloc in view.allocs if alloc["DesiredStatus"] == "run"]
        facts = {status: 0 for status in ("pending", "running", "complete", "failed", "lost", "unknown")}
        facts.update(view.counts())
        facts["running"] = sum(alloc["ClientStatus"] == "running" for alloc in to_run)
        facts.update({
            "allocs": len(view.allocs), "blocked": len(view.blocked()), "job": (view.job or {}).get("Status", "none"),
            "version": (view.job or {}).get("Version"), "deployment": latest.get("Status"),
            "of_version": latest.get("JobVersion"),
            "healthy": sum(group["HealthyAllocs"] for group in (latest.get("TaskGroups") or {}).values()),
            "delayed": sum(not (each.get("WaitUntil") or "0001").startswith("0001") and each["Status"] == "pending"
                           for each in view.evals),
        })
        if "children" in wanted:
            facts["children"] = len(self.children(name))
        if "dead_children" in wanted:
            facts["dead_children"] = sum((self.world.read(f"/v1/job/{child.replace('/', '%2F')}") or {}).get("Status")
                                         == "dead" for child in self.children(name))
        return facts

    def shown(self, with_children, wants):
        """All jobs, and whether they rest."""
        shown, rests = {}, True
        for name in self.spaces:
            views = {name: self.view(name)}
            if with_children:
                for number, child in enumerate(self.children(name), 1):
                    views[f"{name}/{number}"] = observe.JobView(self.world, self.space_of(name), child)
            for which, view in views.items():
                shown[which] = view.shown(self.names, self.world, wants)
                rests = rests and not any(view.is_moving())
        return shown, rests

    def do_see(self, what=None, nodes=False, scores=False, details=False, children=False, alike=False,
               calm=CALM):
        """Everything about the jobs, once nothing has moved for `calm` seconds; longer on a machine that is slow to answer."""
        wants = [name for name, wanted in (("nodes", nodes), ("scores", scores), ("details", details),
                                     ("alike", alike)) if wanted]
        end = time.monotonic() + 20
        last, since, rests = None, time.monotonic(), False
        while time.monotonic() < min(end, since + max(calm, 5)) and (not rests or time.monotonic() - since < calm):
            asked = time.monotonic()
            now, rests = self.shown(children, wants)
            calm = max(calm, min(5, 10 * (time.monotonic() - asked)))
            if now != last:
                last, since = now, time.monotonic()
            time.sleep(0.15)
        return last


def problem_of(scenario):
    """Why a scenario can't be played, or None."""
    for number, step in enumerate(scenario["steps"], 1):
        verb = next(iter(step))
        method = getattr(Play, "do_" + verb.replace("-", "_"), None)
        if method is None:
            return f"step {number}: nothing is called {verb!r}"
        try:
            inspect.signature(method).bind(None, **Play.arguments(step))
        except TypeError as problem:
            return f"step {number}: {problem}"
    return None
