// Objects that an administrator keeps: a table of them, and dialogs that make, change and delete one.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { ActionButton, Check, Confirm, Panel, Table, announce, type Column } from "../../parts/parts.tsx";
import { said } from "../../store/api.ts";
import { useData } from "../../store/data.ts";
import { useWhyNot } from "../../store/may.ts";

/** Often enough for what people change by hand, and no event tells of. */
export const every = 10_000;

export interface Kind<Row> {
  name: string;  // "Roles"
  one: string;   // "role"
  list: string;  // path of the list
  needs: string;
  /** The capability that changes them. */
  changes: string;
  empty: string;
  keyOf: (row: Row) => string;
  titleOf?: (row: Row) => string;
  columns: Column<Row>[];
  blank: () => Row;
  /** All of a row, where the list shows a part. */
  read?: (row: Row) => Promise<Row>;
  form: (row: Row, change: (part: Partial<Row>) => void, isNew: boolean) => ComponentChildren;
  save: (row: Row, isNew: boolean) => Promise<unknown>;
  remove: (row: Row) => Promise<unknown>;
  /** What deleting one does. */
  loses: string;
  /** One that the cluster has of itself: it can't be changed, or at least not deleted. */
  isFixed?: (row: Row) => boolean;
  stays?: (row: Row) => boolean;
}

export function Managed<Row>({ kind }: { kind: Kind<Row> }): JSX.Element {
  const all = useData<Row[]>(kind.list, {}, { every });
  const whyNot = useWhyNot(kind.changes);
  const [made, setMade] = useState<{ row: Row; isNew: boolean } | null>(null);
  const [removed, setRemoved] = useState<Row | null>(null);
  const titleOf = kind.titleOf ?? kind.keyOf;
  const open = async (row: Row): Promise<void> => { setMade({ row: kind.read ? await kind.read(row) : row, isNew: false }); };
  const act: Column<Row> = { name: "", cell: (row) => (kind.isFixed?.(row) ? "" : <span class="row-actions">
    <ActionButton kind="plain link" disabled={whyNot !== undefined} why={whyNot} label={`Change ${titleOf(row)}`} act={() => open(row)}>change</ActionButton>
    {kind.stays?.(row) ? null : <button type="button" class="plain link" disabled={whyNot !== undefined} title={whyNot} aria-label={`Delete ${titleOf(row)}`} onClick={() => setRemoved(row)}>delete</button>}</span>) };
  return <>
    <Panel title={kind.name} data={all} needs={kind.needs} empty={kind.empty}>{(rows) => <Table name={kind.name} rows={rows} keyOf={kind.keyOf} columns={[...kind.columns, act]} />}</Panel>
    {all.value ? <button type="button" class="main" disabled={whyNot !== undefined} title={whyNot} onClick={() => setMade({ row: kind.blank(), isNew: true })}>New {kind.one}</button> : null}
    <Confirm name={made?.isNew === false ? `Change ${kind.one}` : `New ${kind.one}`} button="Save" isOpen={made !== null} close={() => setMade(null)} done="Saved"
      act={async () => { if (made) await kind.save(made.row, made.isNew); all.reload(); }}>
      {made ? kind.form(made.row, (part) => setMade((now) => (now ? { ...now, row: { ...now.row, ...part } } : null)), made.isNew) : null}</Confirm>
    <Confirm name={`Delete ${kind.one}`} button={`Delete ${kind.one}`} kind="danger" isOpen={removed !== null} close={() => setRemoved(null)}
      act={async () => { if (removed) { await kind.remove(removed); announce(`${titleOf(removed)} is deleted`); } all.reload(); }}>
      <p><b>{removed ? titleOf(removed) : ""}</b>: {kind.loses}</p></Confirm></>;
}

/** Which of some names. */
export function Names({ legend, all, chosen, change, empty }: { legend: string; all: readonly string[]; chosen: readonly string[]; change: (chosen: string[]) => void; empty: string }): JSX.Element {
  // One that is not there any more can still be taken away.
  const names = [...new Set([...all, ...chosen])];
  return <fieldset><legend>{legend}</legend>{names.length === 0 ? <span class="faint">{empty}</span> : null}
    {names.map((name) => <Check key={name} label={name} checked={chosen.includes(name)} onChange={(on) => change(on ? [...chosen, name] : chosen.filter((one) => one !== name))} />)}</fieldset>;
}

/** The object that a text of JSON says; what is wrong with it, in words. */
export function objectOf(text: string, what: string): Record<string, unknown> {
  let read: unknown;
  try {
    read = JSON.parse(text.trim() === "" ? "{}" : text);
  } catch (wrong) {
    throw new Error(`${what} is no JSON: ${said(wrong)}`);
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) throw new Error(`${what} must be an object in JSON`);
  return read as Record<string, unknown>;
}
