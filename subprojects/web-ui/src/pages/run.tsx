// Runs a job: its text, what the plan says of it, and the start.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { DiffView } from "../parts/diff.tsx";
import type { Editor } from "../parts/editor.ts";
import { ActionButton, Choice, Heading, Table } from "../parts/parts.tsx";
import { templates } from "./job_templates.ts";
import { lineOf } from "../pure/parse_error.ts";
import { shortId } from "../pure/units.ts";
import type { JobDiff } from "../pure/diff.ts";
import { valuesOf, type GivenValues } from "../pure/variable_values.ts";
import { exactly } from "../shell/preferences.ts";
import { go, jobLink, link, place } from "../shell/router.ts";
import { ApiError, get, namespace, said, send, word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { reasonsOf, type Job, type Metrics } from "./job_types.ts";

const kept = "draft of a job";

interface PlacedOn {
  NodeID: string;
  NodeName: string;
  Count: number;
}

interface Plan {
  Annotations: { DesiredTGUpdates: Record<string, Record<string, number>> | null; PreemptedAllocs?: { ID: string; JobID: string }[] | null } | null;
  FailedTGAllocs: Record<string, Metrics> | null;
  Placements?: Record<string, PlacedOn[]> | null;
  Diff: JobDiff | null;
  JobModifyIndex: number;
  Warnings: string;
  NextPeriodicLaunch?: string;
}

interface Parsed {
  job: Job;
  source: { Source: string; Format: string; Variables?: string };
}

/** The namespace that a job's text names, as far as one can see without evaluating it. */
export function namespaceOf(text: string): string | undefined {
  return /^\s*namespace\s*=\s*"([^"$%\\]+)"/m.exec(text)?.[1];
}

/** `ns` is that of a job whose text names none. */
async function parse(text: string, variables: string, ns: string): Promise<Parsed> {
  const trimmed = text.trimStart();
  if (trimmed.startsWith("{")) {
    const read = JSON.parse(text) as Job | { Job: Job };
    return { job: "Job" in read ? read.Job : read, source: { Source: text, Format: "json" } };
  }
  const job = await send<Job>("POST", "/v1/jobs/parse", { namespace: namespaceOf(text) ?? ns }, { JobHCL: text, Canonicalize: true, ...(variables === "" ? {} : { Variables: variables }) });
  return { job, source: { Source: text, Format: "hcl2", ...(variables === "" ? {} : { Variables: variables }) } };
}

const updates: readonly (readonly [string, string])[] = [["Place", "create"], ["DestructiveUpdate", "destroy and create"], ["InPlaceUpdate", "update in place"], ["Canary", "canary"],
  ["Migrate", "migrate"], ["Stop", "destroy"], ["Preemptions", "preempt"], ["Ignore", "ignore"]];

export function RunPage(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const [error, setError] = useState("");
  const [plan, setPlan] = useState<{ plan: Plan; parsed: Parsed } | null>(null);
  const [variables, setVariables] = useState("");
  const [hasVariables, setHasVariables] = useState(false);
  const [isReady, setReady] = useState(false);
  const edited = place.value.query.get("job");
  const ns = place.value.query.get("namespace") ?? "default";
  const own = edited || namespace.value === "*" ? ns : namespace.value;
  const submit = useRef<() => void>(() => undefined);
  useEffect(() => {
    let isCurrent = true;
    void (async () => {
      const [{ makeEditor }, { text, values }] = await Promise.all([import("../parts/editor.ts"), edited ? textOf(edited, ns, setError) : draft()]);
      if (!isCurrent || !host.current) return;
      if (values !== "") { setVariables(values); setHasVariables(true); }
      editor.current = makeEditor(host.current, "Job definition", text, (now) => { setPlan(null); if (!edited) keepDraft(now); }, () => submit.current());
      setReady(true);
    })();
    return () => { isCurrent = false; editor.current?.end(); editor.current = null; };
  }, [edited]);
  const fail = (wrong: unknown): void => {
    const refused = wrong instanceof ApiError && wrong.status === 403;
    const text = refused ? `${said(wrong)}: this needs submit-job in namespace ${namespaceOf(editor.current?.text() ?? "") ?? own}` : said(wrong);
    const line = lineOf(text);
    setError(line !== null && !/\bline \d/i.test(text) ? `Line ${line}: ${text}` : text);
    editor.current?.setError(line, text);
  };
  const attempt = async (act: (parsed: Parsed) => Promise<void>): Promise<void> => {
    setError("");
    editor.current?.setError(null, "");
    try {
      await act(await parse(editor.current?.text() ?? "", variables, own));
    } catch (wrong) {
      setPlan(null);
      fail(wrong);
    }
  };
  const makePlan = (): Promise<void> => attempt(async (parsed) => {
    const made = await send<Plan>("PUT", `/v1/job/${word(parsed.job.ID)}/plan`, { namespace: parsed.job.Namespace }, { Job: parsed.job, Diff: true });
    setPlan({ plan: made, parsed });
  });
  submit.current = () => void makePlan();
  const run = (): Promise<void> => attempt(async (parsed) => {
    // What was planned is what runs: another change since then is refused.
    const check = plan && plan.parsed.job.ID === parsed.job.ID ? { EnforceIndex: true, JobModifyIndex: plan.plan.JobModifyIndex } : {};
    await send("PUT", "/v1/jobs", { namespace: parsed.job.Namespace }, { Job: parsed.job, Submission: parsed.source, ...check });
    if (!edited) keepDraft("");
    go(jobLink(parsed.job.ID, parsed.job.Namespace ?? "default"));
  });
  const upload = async (file: File | undefined): Promise<void> => { if (file) editor.current?.setText(await file.text()); };
  return <>
    <Heading title="Run job" back={{ href: "/ui/jobs", text: "Jobs" }}>Run job</Heading>
    <div class="actions">
      <label>Template <select value="" onChange={(event) => { const chosen = templates.find(([name]) => name === event.currentTarget.value); event.currentTarget.value = ""; if (chosen) editor.current?.setText(chosen[1]); }}>
        <option value="">choose…</option>{templates.map(([name]) => <option key={name}>{name}</option>)}</select></label>
      <label class="button">Upload<input type="file" class="hidden" accept=".hcl,.nomad,.json,text/plain" onChange={(event) => void upload(event.currentTarget.files?.[0])} /></label>
      <button type="button" aria-expanded={hasVariables} onClick={() => setHasVariables(!hasVariables)}>Values for variables</button>
      <span class="deeds"><ActionButton disabled={!isReady} act={makePlan}>Plan</ActionButton>
        <ActionButton kind="main" disabled={!isReady} act={run}>Run</ActionButton></span>
    </div>
    {hasVariables ? <label class="field">Values of HCL variables, as in a file for -var-file<textarea rows={4} value={variables} onInput={(event) => { setPlan(null); setVariables(event.currentTarget.value); }} /></label> : null}
    {error ? <pre class="trouble" role="alert">{error}</pre> : null}
    <div class="side-by-side">
      <div class="editor" ref={host} />
      <section class="panel" aria-label="Plan"><h2>Plan</h2>{plan ? <><PlanView plan={plan.plan} /><WhatIf key={plan.plan.JobModifyIndex + JSON.stringify(plan.plan.Diff ?? "")} job={plan.parsed.job} /></> : <p class="faint">What would happen: press Plan, or Ctrl+Enter in the text.</p>}</section>
    </div>
  </>;
}

const most_more = 1_000;  // nodes that the agent adds for a plan

/** Plans of the same job under other circumstances: nothing is changed by them. */
function WhatIf({ job }: { job: Job }): JSX.Element {
  const nodes = useData<{ ID: string; Name: string; Status: string }[]>("/v1/nodes").value ?? [];
  const [without, setWithout] = useState("");
  const [like, setLike] = useState("");
  const [count, setCount] = useState("1");
  const [priority, setPriority] = useState(String(job.Priority));
  const [outcome, setOutcome] = useState<{ title: string; plan: Plan } | null>(null);
  const [wrong, setWrong] = useState("");
  const choices: [string, string][] = [["", "none"], ...nodes.map((node): [string, string] => [node.ID, `${node.Name} ${node.ID.slice(0, 8)}`])];
  const nameOf = (id: string): string => nodes.find((one) => one.ID === id)?.Name ?? shortId(id);
  const ask = async (): Promise<void> => {
    setWrong("");
    setOutcome(null);
    const asked: Job = { ...job, Priority: Number(priority) || job.Priority };
    const more = Math.min(most_more, Math.max(1, Math.round(Number(count)) || 1));
    setCount(String(more));
    const circumstances = [...(without ? [{ Remove: without }] : []), ...(like ? [{ Add: more, Like: like }] : [])];
    const plan = await send<Plan>("PUT", `/v1/job/${word(job.ID)}/plan`, { namespace: job.Namespace }, { Job: asked, Diff: false, With: circumstances });
    const said = [without ? `without ${nameOf(without)}` : "", like ? `with ${more} more like ${nameOf(like)}` : ""].filter(Boolean).join(", ") || "with all clients";
    setOutcome({ title: `${said[0]?.toUpperCase()}${said.slice(1)}, priority ${asked.Priority}`, plan });
  };
  return <details class="what-if"><summary>What if</summary>
    <div class="actions">
      <Choice label="Without client" value={without} options={choices} onChange={setWithout} />
      <Choice label="With more clients like" value={like} options={choices} onChange={setLike} />
      <label class="field">How many more<input type="number" min="1" max={most_more} value={count} disabled={!like} onInput={(event) => setCount(event.currentTarget.value)} /></label>
      <label class="field">Priority<input type="number" min="1" max="100" value={priority} onInput={(event) => setPriority(event.currentTarget.value)} /></label>
      <ActionButton act={ask} failed={setWrong}>Plan that</ActionButton></div>
    {wrong ? <p class="trouble" role="alert">{wrong}</p> : null}
    {outcome ? <section aria-label="What would happen then"><h3>{outcome.title}</h3><Outcome plan={outcome.plan} name="Groups then" /></section> : null}
  </details>;
}

function PlanView({ plan }: { plan: Plan }): JSX.Element {
  return <>
    <Outcome plan={plan} name="Groups" />
    {plan.Diff ? <><h3>Changes</h3><DiffView diff={plan.Diff} /></> : null}
    <p class="faint">Against job modify index {plan.JobModifyIndex}: Run is refused if somebody changes the job before.</p>
  </>;
}

/** The API has them as a text: "2 warnings:\n\n* one\n* another". */
function warningsOf(text: string): string[] {
  return text.replace(/^\d+ (warnings?|errors? occurred):\s*/, "").split(/^\s*\* /m).map((one) => one.trim()).filter((one) => one !== "");
}

/** What a plan would do, group by group, and what it would not. */
function Outcome({ plan, name }: { plan: Plan; name: string }): JSX.Element {
  const groups = Object.entries(plan.Annotations?.DesiredTGUpdates ?? {});
  const failed = Object.entries(plan.FailedTGAllocs ?? {});
  const preempted = plan.Annotations?.PreemptedAllocs ?? [];
  return <>
    <Table name={name} rows={groups} keyOf={([name]) => name} columns={[
      { name: "Group", cell: ([name]) => name },
      { name: "What happens", cell: ([, counts]) => updates.filter(([key]) => (counts[key] ?? 0) > 0).map(([key, text]) => `${counts[key]} ${text}`).join(", ") || "nothing" },
    ]} />
    <Places placements={plan.Placements ?? {}} />
    {plan.Warnings ? <ul class="warning">{warningsOf(plan.Warnings).map((one) => <li>{one}</li>)}</ul> : null}
    {failed.map(([group, metrics]) => <div class="warning"><p><b>{group}</b>: {metrics.CoalescedFailures + 1} would find no place</p><ul>{reasonsOf(metrics).map((reason) => <li>{reason}</li>)}</ul></div>)}
    {preempted.length > 0 ? <p class="warning">Would preempt allocations of {[...new Set(preempted.map((one) => one.JobID))].join(", ")}</p> : null}
    {failed.length === 0 ? <p>All allocations find a place.</p> : null}
    {plan.NextPeriodicLaunch && !plan.NextPeriodicLaunch.startsWith("0001-") ? <p>It would be launched next at {exactly(Date.parse(plan.NextPeriodicLaunch))}.</p> : null}
  </>;
}

const most_places = 20;  // of a group

/** On which clients the new allocations come, the most first. */
function Places({ placements }: { placements: Record<string, PlacedOn[]> }): JSX.Element | null {
  const groups = Object.entries(placements).map(([group, on]) => ({ group, on: [...on].sort((a, b) => b.Count - a.Count || (a.NodeName < b.NodeName ? -1 : 1)) }));
  if (groups.length === 0) return null;
  return <Table name="Where new allocations come" rows={groups} keyOf={({ group }) => group} columns={[
    { name: "Group", cell: ({ group }) => group },
    { name: "Would come to", cell: ({ on }) => <>{on.slice(0, most_places).map((one, at) => <>{at > 0 ? ", " : ""}<a href={link("clients", one.NodeID)}>{one.NodeName || shortId(one.NodeID)}</a>&nbsp;{one.Count}</>)}
      {on.length > most_places ? ` and ${on.length - most_places} more clients` : ""}</> },
  ]} />;
}

interface Submitted {
  text: string;
  values: string;
}

/** As it was submitted; without that, as the servers know it. */
async function textOf(id: string, ns: string, setError: (text: string) => void): Promise<Submitted> {
  try {
    const { value: job } = await get<Job>(`/v1/job/${word(id)}`, { namespace: ns });
    try {
      const { value } = await get<GivenValues>(`/v1/job/${word(id)}/submission`, { namespace: ns, version: job.Version });
      return { text: value.Source, values: valuesOf(value) };
    } catch {
      return { text: JSON.stringify({ Job: job }, null, 2), values: "" };
    }
  } catch (wrong) {
    setError(said(wrong));
    return { text: "", values: "" };
  }
}

function draft(): Promise<Submitted> {
  try {
    return Promise.resolve({ text: sessionStorage.getItem(kept) ?? "", values: "" });
  } catch {
    return Promise.resolve({ text: "", values: "" });
  }
}

function keepDraft(text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(kept);
    else sessionStorage.setItem(kept, text);
  } catch {
    // It is not kept.
  }
}
