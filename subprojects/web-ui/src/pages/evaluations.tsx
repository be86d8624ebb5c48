// Evaluations, and one with those that it is related to.
import type { JSX } from "preact";
import { FilteredGrid, type GridColumn } from "../parts/grid.tsx";
import { ObjectTools, commandOf } from "../parts/object.tsx";
import { Ago, Facts, Heading, Panel, Status } from "../parts/parts.tsx";
import { chainOf } from "../pure/chain.ts";
import { eval_fields } from "../pure/rows.ts";
import { milliseconds, shortId } from "../pure/units.ts";
import { jobLink, link, place } from "../shell/router.ts";
import { word } from "../store/api.ts";
import { useData, useList } from "../store/data.ts";
import type { Happened } from "../store/messages.ts";
import { AllocTable } from "./alloc_table.tsx";
import { EvalTable } from "./job.tsx";
import { reasonsOf, type AllocStub, type Evaluation } from "./job_types.ts";
import { NotFound } from "./not_found.tsx";

const failures = (one: Evaluation): number => Object.keys(one.FailedTGAllocs ?? {}).length;

const columns: GridColumn<Evaluation>[] = [
  { name: "ID", width: "6.5rem", text: (one) => one.ID, cell: (one) => <a href={link("evaluations", one.ID)}>{shortId(one.ID)}</a> },
  { name: "Job", width: "minmax(10rem, 2fr)", text: (one) => one.JobID, cell: (one) => (one.JobID ? <a href={jobLink(one.JobID, one.Namespace)}>{one.JobID}</a> : "") },
  { name: "Namespace", text: (one) => one.Namespace, cell: (one) => one.Namespace },
  { name: "Status", text: (one) => one.Status, cell: (one) => <Status value={one.Status} /> },
  { name: "Triggered by", width: "minmax(9rem, 1fr)", text: (one) => one.TriggeredBy, cell: (one) => one.TriggeredBy },
  { name: "Placement", text: (one) => (failures(one) > 0 ? "failed" : ""), cell: (one) => (failures(one) > 0 ? <a href={link("evaluations", one.ID, "why")}>failed: why?</a> : "") },
  { name: "Priority", width: "5rem", text: (one) => one.Priority, cell: (one) => one.Priority },
  { name: "Created", width: "6rem", text: (one) => one.CreateTime, cell: (one) => <Ago at={milliseconds(one.CreateTime)} /> },
];

export function EvaluationsPage(): JSX.Element {
  const list = useList<Evaluation>({ path: "/v1/evaluations", query: { fields: eval_fields }, idOf: (one) => one.ID, topic: "Evaluation", newestFirst: true,
    rowOf: (event) => event.row as Evaluation | null });
  return <><Heading title="Evaluations">Evaluations</Heading>
    <FilteredGrid name="Evaluations" noun="evaluation" list={list} columns={columns} idOf={(one) => one.ID} needs="read-job" empty={<p>There are no evaluations.</p>} /></>;
}

const wide = 170;
const tall = 54;
const gap = 34;

/** What came of what, beside the table that says the same. */
function Graph({ evals, current }: { evals: Evaluation[]; current: string }): JSX.Element {
  const { placed, lines, columns, rows } = chainOf([...new Map(evals.map((one) => [one.ID, one])).values()]);
  const at = new Map(placed.map((one) => [one.node.ID, { x: one.column * (wide + gap) + 1, y: one.row * (tall + 12) + 1 }]));
  const width = columns * (wide + gap) - gap + 2;
  const height = rows * (tall + 12) + 2;
  return <div class="scroll" tabIndex={0} role="region" aria-label="Graph of evaluations"><svg class="graph" width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
    {lines.map(({ from, to, kind }) => {
      const a = at.get(from) ?? { x: 0, y: 0 };
      const b = at.get(to) ?? { x: 0, y: 0 };
      return <path key={from + to} class={kind} d={`M${a.x + wide} ${a.y + tall / 2} C${a.x + wide + gap / 2} ${a.y + tall / 2} ${b.x - gap / 2} ${b.y + tall / 2} ${b.x} ${b.y + tall / 2}`} />;
    })}
    {placed.map(({ node }) => {
      const { x, y } = at.get(node.ID) ?? { x: 0, y: 0 };
      return <a key={node.ID} href={link("evaluations", node.ID)}>
        <rect class={node.ID === current ? "current" : ""} x={x} y={y} width={wide} height={tall} rx={6} />
        <text x={x + 10} y={y + 22}>{shortId(node.ID)} {node.Status}</text><text class="faint" x={x + 10} y={y + 42}>{node.TriggeredBy}</text></a>;
    })}</svg></div>;
}

export function EvaluationPage(): JSX.Element {
  const id = place.value.path[1] ?? "";
  const at = `/v1/evaluation/${word(id)}`;
  const when = (event: Happened): boolean => event.topic === "Evaluation" && event.key === id;
  const evaluation = useData<Evaluation>(at, { related: "true" }, { when });
  const allocs = useData<AllocStub[]>(`${at}/allocations`, {}, { when });
  if (evaluation.error?.status === 404 || evaluation.error?.status === 400) return <NotFound what={`Evaluation ${id}`} back={{ href: "/ui/evaluations", text: "Evaluations" }} />;
  const to = (other: string): JSX.Element | undefined => (other ? <a href={link("evaluations", other)}>{shortId(other)}</a> : undefined);
  return <>
    <Heading title={`Evaluation ${shortId(id)}`} back={{ href: "/ui/evaluations", text: "Evaluations" }}>{shortId(id)}</Heading>
    <Panel data={evaluation} needs="read-job in its namespace">{(value) => <>
      <div class="actions"><Status value={value.Status} label="Evaluation status" /><ObjectTools id={value.ID} shown={shortId(value.ID)} command={commandOf("eval status", value.ID)} raw={value} /><span class="faint">{value.StatusDescription}</span><span class="grow" /><a class="button" href={link("evaluations", id, "why")}>Why</a></div>
      <Facts label="About the evaluation" rows={[["ID", <code>{value.ID}</code>], ["Job", value.JobID ? <a href={jobLink(value.JobID, value.Namespace)}>{value.JobID}</a> : undefined], ["Namespace", value.Namespace],
        ["Type", value.Type], ["Triggered by", value.TriggeredBy], ["Priority", value.Priority], ["Created", <Ago at={milliseconds(value.CreateTime)} />],
        ["Before it", to(value.PreviousEval)], ["Next", to(value.NextEval)], ["Blocked one", to(value.BlockedEval)]]} />
      {Object.entries(value.FailedTGAllocs ?? {}).map(([group, metrics]) => <div class="warning"><p><b>{group}</b>: no place for {metrics.CoalescedFailures + 1}</p><ul>{reasonsOf(metrics).map((reason) => <li>{reason}</li>)}</ul></div>)}
      {value.RelatedEvals?.length ? <><h2>Related</h2><Graph evals={[value, ...value.RelatedEvals]} current={id} /><EvalTable name="Related evaluations" evals={value.RelatedEvals} /></> : null}
    </>}</Panel>
    <Panel title="Allocations" data={allocs} needs="read-job in its namespace" empty="It has placed none.">{(all) => <AllocTable allocs={all} />}</Panel>
  </>;
}
