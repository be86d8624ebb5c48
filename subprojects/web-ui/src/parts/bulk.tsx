// What is done with several rows of a list at once: one after the other, and said of each that refused.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { several } from "../pure/units.ts";
import { said } from "../store/api.ts";
import { Confirm } from "./parts.tsx";

export interface BulkAction<Row> {
  name: string;       // "Stop"
  happens: string;    // what becomes of each, as a sentence
  done: string;       // "stopped"
  kind?: "danger";
  /** Whether it is for this row; others that are selected are left as they are. */
  fits: (row: Row) => boolean;
  /** Why the token may not; asked of the rows that are selected. */
  whyNot?: string | undefined;
  act: (row: Row) => Promise<unknown>;
}

const most_named = 8;

interface Props<Row> {
  noun: string;
  rows: readonly Row[];
  actions: readonly BulkAction<Row>[];
  nameOf: (row: Row) => string;
  clear: () => void;
}

/** The buttons for the rows that are selected. */
export function Selected<Row>({ noun, rows, actions, nameOf, clear }: Props<Row>): JSX.Element | null {
  const [asks, setAsks] = useState<BulkAction<Row> | null>(null);
  if (rows.length === 0) return null;
  return <div class="actions selected" role="group" aria-label="Selected"><span role="status" aria-label="Selection">{several(rows.length, noun)} selected</span>
    {actions.map((action) => {
      const count = rows.filter(action.fits).length;
      const why = action.whyNot ?? (count === 0 ? `None of them can be ${action.done}` : undefined);
      return <button type="button" key={action.name} class={action.kind} disabled={why !== undefined} title={why} onClick={() => setAsks(action)}>{action.name} {several(count, noun)}</button>;
    })}
    <button type="button" class="plain link" onClick={clear}>Clear selection</button>
    {asks ? <Ask action={asks} rows={rows.filter(asks.fits)} noun={noun} nameOf={nameOf} close={() => setAsks(null)} clear={clear} /> : null}</div>;
}

function Ask<Row>({ action, rows, noun, nameOf, close, clear }: { action: BulkAction<Row>; rows: Row[]; noun: string; nameOf: (row: Row) => string; close: () => void; clear: () => void }): JSX.Element {
  // As they were selected: a row that changes meanwhile is not another one.
  const [asked] = useState(rows);
  const [progress, setProgress] = useState("");
  const run = async (): Promise<void> => {
    const refused: string[] = [];
    for (const [at, row] of asked.entries()) {
      setProgress(`${at} of ${several(asked.length, noun)} ${action.done}`);
      try {
        await action.act(row);
      } catch (wrong) {
        refused.push(`${nameOf(row)}: ${said(wrong)}`);
      }
    }
    setProgress("");
    if (refused.length > 0) throw new Error(`${asked.length - refused.length} of ${several(asked.length, noun)} ${action.done}. ${refused.slice(0, most_named).join("; ")}`);
    clear();
  };
  return <Confirm name={`${action.name} ${several(asked.length, noun)}`} button={action.name} kind={action.kind ?? "main"} isOpen close={close} done={`${several(asked.length, noun)} ${action.done}`} act={run}>
    <p>{action.happens}</p>
    <ul>{asked.slice(0, most_named).map((row) => <li>{nameOf(row)}</li>)}</ul>
    {asked.length > most_named ? <p class="faint">and {asked.length - most_named} more</p> : null}
    {progress ? <p role="status">{progress}</p> : null}</Confirm>;
}
