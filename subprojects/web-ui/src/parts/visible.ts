// Names and texts of others as one may read them: a mark that turns text round, or a control, is seen instead of obeyed.

// eslint-disable-next-line no-control-regex
const invisible = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g;

export function visible(text: string): string {
  return text.replace(invisible, "\ufffd");
}

/** The children of an element, with each text in them made visible, whatever else they are left as they are. */
export function visibleChildren(children: unknown): unknown {
  if (typeof children === "string") return visible(children);
  if (Array.isArray(children)) for (const [at, child] of children.entries()) if (typeof child === "string" || Array.isArray(child)) children[at] = visibleChildren(child);
  return children;
}

const longest = 2_000;

/** A text that may be of any length, where it stands among others. */
export function shortened(text: string, most = longest): string {
  return text.length > most ? `${text.slice(0, most)} … ${(text.length - most).toLocaleString("en")} more characters` : text;
}
