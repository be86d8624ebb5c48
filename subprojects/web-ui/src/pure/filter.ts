// The filter boxes of lists: words that must all be there; "key=value" looks in one member.

export interface Filter {
  words: string[];
  members: [string, string][];
}

export function parseFilter(text: string): Filter {
  const filter: Filter = { words: [], members: [] };
  for (const word of text.toLowerCase().split(/\s+/)) {
    if (word === "") continue;
    const at = word.indexOf("=");
    if (at > 0 && at < word.length - 1) filter.members.push([word.slice(0, at), word.slice(at + 1)]);
    else filter.words.push(word);
  }
  return filter;
}

/** What a row shows, as `matches` looks through it. */
export function searchable(texts: readonly (string | number)[]): string {
  return texts.join("\n").toLowerCase();
}

/** `text` is what the row shows (`searchable`), `members` what "key=" looks at. */
export function matches(filter: Filter, text: string, members: (name: string) => string | undefined): boolean {
  for (const [name, wanted] of filter.members) {
    const value = members(name);
    // A key that the list has not is a word like others.
    if (value === undefined ? !text.includes(`${name}=${wanted}`) : !value.toLowerCase().includes(wanted)) return false;
  }
  return filter.words.every((word) => text.includes(word));
}

/** What a filter's text wants of one member; empty for anything. */
export function memberOf(text: string, name: string): string {
  return parseFilter(text).members.find(([key]) => key === name)?.[1] ?? "";
}

/** The text with another value for this member; an empty one takes it out. Other words stay as they were written. */
export function withMember(text: string, name: string, value: string): string {
  const others = text.split(/\s+/).filter((word) => word !== "" && !word.toLowerCase().startsWith(`${name}=`));
  return [...others, ...(value === "" ? [] : [`${name}=${value}`])].join(" ");
}
