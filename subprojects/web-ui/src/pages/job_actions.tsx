// What can be done with a job as a whole.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ObjectTools, commandOf } from "../parts/object.tsx";
import { ActionButton, Check, Confirm, Status, TextField } from "../parts/parts.tsx";
import { go, jobLink, place, setParameter } from "../shell/router.ts";
import { follow, isFollowed, unfollow, whyNoNotifications } from "../shell/notify.ts";
import { region, send, word } from "../store/api.ts";
import { useWhyNot } from "../store/may.ts";
import type { JobProps } from "./job.tsx";
import { restartJob, startJob } from "./job_deeds.ts";
import { hasChildren, type Job } from "./job_types.ts";

export function Actions({ job, path, ns, id }: JobProps & { job: Job }): JSX.Element {
  const isDispatching = job.ParameterizedJob != null && hasChildren(job) && place.value.query.get("dispatch") === "true";
  const [asks, setAsks] = useState(isDispatching ? "dispatch" : "");
  const [purges, setPurges] = useState(false);
  const close = (): void => { setAsks(""); setParameter("dispatch", ""); };
  const whyNot = useWhyNot("submit-job", ns);
  const cannotDispatch = useWhyNot("dispatch-job", ns);
  const cannotRestart = useWhyNot("alloc-lifecycle", ns);
  const isStopped = job.Stop || job.Status === "dead";
  const launches = hasChildren(job);
  return <div class="actions">
    <Status value={job.Status} label="Job status" />
    <ObjectTools id={id} shown="" command={commandOf("job status", id, ns)} raw={job} />
    <span>{job.Type}</span><span>priority {job.Priority}</span><span>namespace {ns}</span><span>version {job.Version}</span>
    <span class="deeds">
      {job.Stop ? <ActionButton kind="main" disabled={whyNot !== undefined} why={whyNot} done={`Job ${id} is started`} act={() => startJob(path, ns)}>Start</ActionButton>
        : <button type="button" class="danger" data-key="s" disabled={whyNot !== undefined} title={whyNot} onClick={() => setAsks("stop")}>Stop</button>}
      {isStopped || launches ? null : <button type="button" disabled={cannotRestart !== undefined} title={cannotRestart} onClick={() => setAsks("restart")}>Restart</button>}
      <a class="button" href={`/ui/jobs/run?job=${word(id)}&namespace=${word(ns)}`}>Edit</a>
      {job.Periodic && launches ? <ActionButton disabled={whyNot !== undefined} why={whyNot} done="Launched" act={() => send("PUT", `${path}/periodic/force`, { namespace: ns })}>Launch now</ActionButton> : null}
      {job.ParameterizedJob && launches && !job.Stop ? <button type="button" class="main" disabled={cannotDispatch !== undefined} title={cannotDispatch} onClick={() => setAsks("dispatch")}>Dispatch</button> : null}
      {isStopped ? <button type="button" class="danger" disabled={whyNot !== undefined} title={whyNot} onClick={() => setAsks("purge")}>Purge</button> : null}
      <Notify id={id} ns={ns} />
    </span>
    <Confirm name="Stop job" button="Stop job" kind="danger" isOpen={asks === "stop"} close={close} done={`Job ${id} is stopped`}
      act={async () => { await send("DELETE", path, { namespace: ns, purge: purges ? "true" : undefined }); if (purges) go("/ui/jobs"); }}>
      <p>All allocations of {id} are stopped. The job stays and can be started again.</p>
      <Check label="Also purge it: nothing of it stays" checked={purges} onChange={setPurges} />
    </Confirm>
    <Confirm name="Purge job" button="Purge job" kind="danger" isOpen={asks === "purge"} close={close} done={`Job ${id} is purged`}
      act={async () => { await send("DELETE", path, { namespace: ns, purge: "true" }); go("/ui/jobs"); }}>
      <p>Nothing of {id} stays: no versions, no allocations.</p>
    </Confirm>
    <RestartDialog isOpen={asks === "restart"} close={close} path={path} ns={ns} id={id} />
    {job.ParameterizedJob ? <DispatchDialog isOpen={asks === "dispatch"} close={close} path={path} ns={ns} wants={job.ParameterizedJob} /> : null}
  </div>;
}

/** Whether this browser says so when something of the job fails. */
function Notify({ id, ns }: { id: string; ns: string }): JSX.Element {
  const isOn = isFollowed(id, ns);
  const why = isOn ? undefined : whyNoNotifications();
  const act = (): Promise<void> => (isOn ? Promise.resolve(unfollow({ id, ns, region: region.value })) : follow(id, ns));
  return <ActionButton isPressed={isOn} disabled={why !== undefined} why={why ?? "A notification of this browser when a deployment or an allocation fails, while a page of this agent is open"} act={act}
    done={isOn ? `No notifications of ${id} any more` : `This browser says so when something of ${id} fails, while a page of this agent is open`}>Notify me</ActionButton>;
}

function RestartDialog({ isOpen, close, path, ns, id }: { isOpen: boolean; close: () => void; path: string; ns: string; id: string }): JSX.Element {
  const [said, setSaid] = useState("");
  return <Confirm name="Restart job" button="Restart job" isOpen={isOpen} close={() => { setSaid(""); close(); }} done={`${id} is restarted`} act={() => restartJob(path, ns, setSaid)}>
    <p>The running tasks of {id} end and start again where they are, one allocation after the other. None is moved.</p>
    {said ? <p role="status">{said}</p> : null}</Confirm>;
}

function base64(text: string): string {
  let binary = "";
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

function DispatchDialog({ isOpen, close, path, ns, wants }: { isOpen: boolean; close: () => void; path: string; ns: string; wants: NonNullable<Job["ParameterizedJob"]> }): JSX.Element {
  const [payload, setPayload] = useState("");
  const [meta, setMeta] = useState<Record<string, string>>({});
  const required = wants.MetaRequired ?? [];
  const names = [...required, ...(wants.MetaOptional ?? [])];
  const dispatch = async (): Promise<void> => {
    const given = Object.fromEntries(names.filter((name) => (meta[name] ?? "") !== "").map((name) => [name, meta[name]]));
    const { DispatchedJobID } = await send<{ DispatchedJobID: string }>("PUT", `${path}/dispatch`, { namespace: ns }, { Payload: payload === "" ? null : base64(payload), Meta: given });
    go(jobLink(DispatchedJobID, ns));
  };
  return <Confirm name="Dispatch job" button="Dispatch job" isOpen={isOpen} close={close} act={dispatch}>
    {names.map((name) => <TextField key={name} label={required.includes(name) ? `${name} (required)` : name} value={meta[name] ?? ""} onChange={(value) => setMeta({ ...meta, [name]: value })} />)}
    {wants.Payload === "forbidden" ? null : <TextField label={wants.Payload === "required" ? "Payload (required)" : "Payload"} rows={5} value={payload} onChange={setPayload} />}
    {names.length === 0 && wants.Payload === "forbidden" ? <p>It takes neither meta nor a payload.</p> : null}</Confirm>;
}
