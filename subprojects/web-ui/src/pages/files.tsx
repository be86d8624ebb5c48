// The files of an allocation.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { CodeView } from "../parts/code.tsx";
import { ActionButton, Panel, Table, Trouble, saveAs } from "../parts/parts.tsx";
import { plain } from "../pure/ansi.ts";
import { bytes } from "../pure/units.ts";
import { exactly } from "../shell/preferences.ts";
import { place, setParameter } from "../shell/router.ts";
import { ApiError, request } from "../store/api.ts";
import { useData } from "../store/data.ts";

interface File {
  Name: string;
  IsDir: boolean;
  Size: number;
  FileMode: string;
  ModTime: string;
}

const most_shown = 200_000;

export function FilesTab({ alloc, ns, task }: { alloc: string; ns: string; task: string }): JSX.Element {
  const path = place.value.query.get("path") ?? (task ? `/${task}` : "/");
  const [open, setOpen] = useState<string | null>(null);
  const files = useData<File[]>(`/v1/client/fs/ls/${alloc}`, { path, namespace: ns });
  const words = path.split("/").filter((word) => word !== "");
  const enter = (to: string): void => { setOpen(null); setParameter("path", to); };
  const join = (name: string): string => `${path === "/" ? "" : path.replace(/\/$/, "")}/${name}`;
  return <>
    <nav class="crumb" aria-label="Folder"><button type="button" class="plain" onClick={() => enter("/")}>/</button>
      {words.map((word, at) => <><button type="button" class="plain" onClick={() => enter(`/${words.slice(0, at + 1).join("/")}`)}>{plain(word)}</button>/</>)}</nav>
    <Panel data={files} needs={`read-fs in namespace ${ns}`} empty="Nothing is in this folder.">{(all) =>
      <Table name="Files" rows={[...all].sort((a, b) => Number(b.IsDir) - Number(a.IsDir) || (a.Name < b.Name ? -1 : 1))} keyOf={(file) => file.Name} columns={[
        { name: "Name", cell: (file) => <button type="button" class="plain link" onClick={() => (file.IsDir ? enter(join(file.Name)) : setOpen(join(file.Name)))}>{plain(file.Name)}{file.IsDir ? "/" : ""}</button> },
        { name: "Size", isNumber: true, cell: (file) => (file.IsDir ? "" : bytes(file.Size)) },
        { name: "Mode", cell: (file) => <code>{file.FileMode}</code> },
        { name: "Changed", cell: (file) => exactly(Date.parse(file.ModTime)) },
      ]} />}</Panel>
    {open ? <FileView key={open} alloc={alloc} ns={ns} path={open} /> : null}
  </>;
}

function FileView({ alloc, ns, path }: { alloc: string; ns: string; path: string }): JSX.Element {
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState<ApiError>();
  useEffect(() => {
    const abort = new AbortController();
    request("GET", `/v1/client/fs/readat/${alloc}`, { path, namespace: ns, offset: 0, limit: most_shown }, undefined, abort.signal)
      .then((answer) => answer.text()).then((got) => setText(got.includes("\0") ? "This file is no text." : plainLines(got)))
      .catch((wrong: unknown) => { if (!abort.signal.aborted) setError(wrong instanceof ApiError ? wrong : new ApiError(0, String(wrong))); });
    return () => abort.abort();
  }, [alloc, path]);
  const download = async (): Promise<void> => {
    const answer = await request("GET", `/v1/client/fs/cat/${alloc}`, { path, namespace: ns });
    saveAs(await answer.blob(), path.split("/").pop() ?? "file");
  };
  return <section class="panel" aria-label={`File ${path}`}><div class="actions"><h2>{plain(path)}</h2><span class="grow" /><ActionButton act={download}>Download</ActionButton></div><Trouble error={error} needs={`read-fs in namespace ${ns}`} />
    {text === null ? null : <CodeView label="Content" text={text} />}
    {text !== null && text.length >= most_shown ? <p class="faint">The first {bytes(most_shown)}.</p> : null}</section>;
}

function plainLines(text: string): string {
  return text.split("\n").map(plain).join("\n");
}
