// What an agent is made of, as it works: mailboxes, restarts, slow handlers.
import type { JSX } from "preact";
import { Heading, Panel } from "../parts/parts.tsx";
import { useData } from "../store/data.ts";
import { inTree, type Actor } from "../pure/tree.ts";

const every = 1_000;

export function ActorsPage(): JSX.Element {
  const actors = useData<Actor[]>("/v1/agent/actors", {}, { every });
  return <><Heading title="Actors">Actors</Heading>
    <p class="faint">The parts of the agent that serves this page. A mailbox that grows, or a handler that takes long, is where it waits.</p>
    <Panel data={actors} needs="agent read">{(all) => <div class="scroll" tabIndex={0} role="region" aria-label="Actors table"><table role="treegrid" aria-label="Actors">
      <thead><tr role="row">{["Actor", "About", "When it fails", "Waiting", "Urgent", "Handled", "Restarts", "Longest handler"].map((name, at) => <th role="columnheader" scope="col" class={at > 2 ? "number" : undefined}>{name}</th>)}</tr></thead>
      <tbody>{inTree(all).map(({ actor, depth }) => <tr role="row" aria-level={depth + 1} key={actor.ID} data-row="">
        <td role="gridcell" class={`depth-${Math.min(depth, 8)}`}>{actor.Name}</td><td role="gridcell">{actor.About}</td><td role="gridcell">{actor.Policy}</td>
        <td role="gridcell" class="number">{actor.Waiting}</td><td role="gridcell" class="number">{actor.WaitingUrgent}</td><td role="gridcell" class="number">{actor.Handled.toLocaleString("en")}</td>
        <td role="gridcell" class="number">{actor.Restarts}</td><td role="gridcell" class="number">{(actor.LongestHandler / 1e6).toFixed(1)} ms</td></tr>)}</tbody>
    </table></div>}</Panel></>;
}
