// What a page is a page of. With another key it begins anew: what was edited of one object must not be saved into another.

const of_whole_path = new Set(["variable", "exec"]);  // of others, what follows the object is a tab of it

export function keyOfPage(name: string, { path, query }: { path: readonly string[]; query: URLSearchParams }, region: string): string {
  const isOfObject = path.length > 1;
  return JSON.stringify([name, region, of_whole_path.has(name) ? path : path.slice(0, 2), isOfObject ? query.get("namespace") : null, name === "run" ? query.get("job") : null]);
}
