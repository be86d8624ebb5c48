// What the scheduler's rules say of a group now: what would help, what it waits for, and the nodes that do not fit, folded.
import type { JSX } from "preact";
import { Facts, Panel, Table } from "../parts/parts.tsx";
import { several, shortId } from "../pure/units.ts";
import { jobLink, link } from "../shell/router.ts";
import { word } from "../store/api.ts";
import { useData } from "../store/data.ts";

interface Told {
  Text: string;
  Kind?: string;
}

interface NodeClass {
  Count: number;
  Reasons: Told[];
  Nodes?: { ID: string; Name: string }[];
}

interface Suggestion {
  Text: string;
  NodeID?: string;
  NodeName?: string;
}

interface ExplainedGroup {
  Name: string;
  Summary: string;
  Nodes: number;
  NodesLookedAt: number;
  NodesFitting: number;
  QuotaExceeded: string[];
  Waits: Told[];
  Refused: NodeClass[];
  OtherClasses: number;
  NodesOfOtherClasses: number;
  Suggestions: Suggestion[];
}

interface Explained {
  Groups: ExplainedGroup[];
  Allocation: {
    NodesFittingNow: number;
    Now: { Fits: boolean; Rank?: number; NormScore?: number; Reasons: Told[] } | null;
    Waits: Told[];
  } | null;
}

function Lines({ name, lines }: { name: string; lines: readonly JSX.Element[] }): JSX.Element | null {
  return lines.length === 0 ? null : <><h3>{name}</h3><ul aria-label={name}>{lines.map((line) => <li>{line}</li>)}</ul></>;
}

function told(all: readonly Told[]): JSX.Element[] {
  return all.map((one) => <span>{one.Text}</span>);
}

function Refused({ group }: { group: ExplainedGroup }): JSX.Element | null {
  if (group.Refused.length === 0) return null;
  return <><Table name="Nodes that do not fit" rows={group.Refused} keyOf={(one) => one.Reasons.map((reason) => reason.Text).join()} columns={[
    { name: "Nodes", isNumber: true, cell: (one) => one.Count, by: (one) => one.Count },
    { name: "Against them", cell: (one) => one.Reasons.map((reason) => reason.Text).join("; ") },
    { name: "Such as", cell: (one) => (one.Nodes ?? []).map((node, at) => <>{at > 0 ? ", " : ""}<a href={link("clients", node.ID)}>{node.Name}</a></>) },
  ]} />{group.OtherClasses > 0 ? <p class="faint">{several(group.NodesOfOtherClasses, "more node")} in {several(group.OtherClasses, "other line")}.</p> : null}</>;
}

function Group({ group }: { group: ExplainedGroup }): JSX.Element {
  return <><p>{group.Summary}</p>
    {group.NodesLookedAt < group.Nodes ? <p class="faint">Only {group.NodesLookedAt} of {several(group.Nodes, "node")} were looked at.</p> : null}
    <Lines name="Beyond the quota" lines={group.QuotaExceeded.map((text) => <span>{text}</span>)} />
    <Lines name="Waits" lines={told(group.Waits)} />
    <Lines name="One more would fit with any of these" lines={group.Suggestions.map((one) => <span>{one.Text}{one.NodeID ? <>: <a href={link("clients", one.NodeID)}>{one.NodeName}</a> would take it</> : null}</span>)} />
    <Refused group={group} /></>;
}

/** Of one allocation where `alloc` names it: as if it were not there. */
export function ExplainedPanel({ job, ns, group, alloc }: { job: string; ns: string; group: string; alloc: string | undefined }): JSX.Element {
  const query = { namespace: ns, ...(alloc ? { alloc } : { group }) };
  const explained = useData<Explained>(group ? `/v1/job/${word(job)}/explain` : null, query, { when: (event) => event.topic === "Node" || event.topic === "Allocation" || event.topic === "Evaluation" });
  return <Panel title="Now, by the scheduler's rules" data={explained} needs="read-job in its namespace">{(all) => {
    const own = all.Allocation;
    return <>{own ? <Facts label="The allocation now" rows={[["Rank", own.Now?.Rank ? `${own.Now.Rank} of ${several(own.NodesFittingNow, "node")} that fit` : undefined],
      ["Score", own.Now?.NormScore?.toFixed(3)]]} /> : null}
    <Lines name="It waits" lines={told(own?.Waits ?? [])} />
    <Lines name="Its node would not take it now" lines={told(own?.Now && !own.Now.Fits ? own.Now.Reasons : [])} />
    {all.Groups.map((one) => <Group group={one} />)}
    <p class="faint">The same by <code>nomadctl job explain{alloc ? ` -alloc=${shortId(alloc)}` : ` -group=${group}`} {job}</code>; <a href={jobLink(job, ns)}>the job</a>.</p></>;
  }}</Panel>;
}
