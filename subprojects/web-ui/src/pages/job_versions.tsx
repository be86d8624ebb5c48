// A job's text as it was submitted, and what each version changed.
import type { JSX } from "preact";
import { Confirm, Ago, Panel, Status } from "../parts/parts.tsx";
import { DiffView } from "../parts/diff.tsx";
import { CodeView } from "../parts/code.tsx";
import type { JobDiff } from "../pure/diff.ts";
import { milliseconds } from "../pure/units.ts";
import { send, word } from "../store/api.ts";
import { useData } from "../store/data.ts";
import { valuesOf, type GivenValues } from "../pure/variable_values.ts";
import { useWhyNot } from "../store/may.ts";
import type { JobProps } from "./job.tsx";
import type { Job } from "./job_types.ts";
import { useState } from "preact/hooks";

export function DefinitionTab({ path, ns, job, id }: JobProps & { job: Job | undefined }): JSX.Element {
  const submission = useData<GivenValues>(job ? `${path}/submission` : null, { namespace: ns, version: job?.Version });
  const { value, error } = submission;
  const isMissing = error?.status === 404;
  const values = value ? valuesOf(value) : "";
  return <section class="panel" aria-label="Definition">
    <div class="actions"><h2>Definition</h2><span class="faint">{isMissing ? "It was submitted without its text; this is what the servers know" : value ? `version ${job?.Version}, as it was submitted` : ""}</span>
      <span class="grow" /><a class="button" href={`/ui/jobs/run?job=${word(id)}&namespace=${word(ns)}`}>Edit</a></div>
    {value ? <CodeView label="Definition" text={value.Source} /> : null}
    {values ? <><h3>Variables</h3><CodeView label="Variables" text={values} /></> : null}
    {isMissing && job ? <CodeView label="Definition" text={JSON.stringify(job, null, 2)} /> : null}
    {error && !isMissing ? <p class="trouble">{error.status === 403 ? `This needs read-job in namespace ${ns}` : error.message}</p> : null}
  </section>;
}

interface Versions {
  Versions: Job[] | null;
  Diffs: (JobDiff | null)[] | null;
}

export function VersionsTab({ path, ns, when, current }: JobProps & { current: number | undefined }): JSX.Element {
  const versions = useData<Versions>(`${path}/versions`, { namespace: ns, diffs: "true" }, { when });
  const whyNot = useWhyNot("submit-job", ns);
  const [reverts, setReverts] = useState<number | null>(null);
  return <Panel title="Versions" data={versions} needs={`read-job in namespace ${ns}`}>{(value) => <>
    {(value.Versions ?? []).map((version, at) => <article class="card" key={version.Version} aria-label={`Version ${version.Version}`}>
      <div class="actions"><h3>Version {version.Version}</h3>{version.Version === current ? <span>current</span> : null}{version.Stable ? <Status value="stable" /> : null}{version.VersionTag ? <b title={version.VersionTag.Description}>{version.VersionTag.Name}</b> : null}
        <Ago at={milliseconds(version.SubmitTime)} /><span class="grow" />
        {version.Version === current ? null : <button type="button" disabled={whyNot !== undefined} title={whyNot} onClick={() => setReverts(version.Version)}>Revert to {version.Version}</button>}</div>
      {value.Diffs?.[at] ? <DiffView diff={value.Diffs[at]} /> : <p class="faint">The first version that is kept.</p>}
    </article>)}
    <Confirm name="Revert job" button="Revert job" isOpen={reverts !== null} close={() => setReverts(null)} done={`Reverted to version ${reverts}`}
      act={() => send("PUT", `${path}/revert`, { namespace: ns }, { JobID: value.Versions?.[0]?.ID, JobVersion: reverts, EnforcePriorVersion: current })}>
      <p>What version {reverts} says becomes the newest version.</p>
    </Confirm>
  </>}</Panel>;
}
