// Paths with slashes, as folders.

export interface Folder {
  path: string;     // without the slash at its end
  count: number;    // of all below it
  changed: number;  // the newest time of these
}

/** What stands directly in a folder ("" is the whole): folders by name, then the rest. */
export function inFolder<File extends { Path: string; ModifyTime: number }>(all: readonly File[], folder: string): { folders: Folder[]; files: File[] } {
  const begin = folder === "" ? 0 : folder.length + 1;
  const folders = new Map<string, Folder>();
  const files: File[] = [];
  for (const file of all) {
    if (begin > 0 && !file.Path.startsWith(`${folder}/`)) continue;
    const slash = file.Path.indexOf("/", begin);
    if (slash < 0) { files.push(file); continue; }
    const path = file.Path.slice(0, slash);
    const known = folders.get(path);
    folders.set(path, { path, count: (known?.count ?? 0) + 1, changed: Math.max(known?.changed ?? 0, file.ModifyTime) });
  }
  return { folders: [...folders.values()].sort((a, b) => (a.path < b.path ? -1 : 1)), files };
}
