// Lines of logs: colours of terminals as classes, everything else that would steer a terminal or turn the text round left out.

export interface Piece {
  text: string;
  classes: string;
}

const colors = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// Control sequences, titles and the like, lone controls, and marks that change the direction of text.
// eslint-disable-next-line no-control-regex
const unprintable = /\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\-_]|[\x00-\x08\x0b-\x1f\x7f]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function withCodes(state: Map<string, string>, codes: string): void {
  for (const code of codes === "" ? [0] : codes.split(";").map(Number)) {
    if (code === 0) state.clear();
    else if (code === 1) state.set("weight", "bold");
    else if (code === 22) state.delete("weight");
    else if (code === 39) state.delete("color");
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) state.set("color", `ansi-${colors[code % 10]}`);
  }
}

/** The pieces of one line. `most` characters are shown. */
export function ansi(line: string, most = 10_000): Piece[] {
  const cut = line.length > most ? `${line.slice(0, most)} … ${line.length - most} more characters` : line;
  const pieces: Piece[] = [];
  const state = new Map<string, string>();
  let begin = 0;
  const add = (text: string): void => {
    if (text !== "") pieces.push({ text, classes: [...state.values()].join(" ") });
  };
  for (const found of cut.matchAll(unprintable)) {
    add(cut.slice(begin, found.index));
    begin = found.index + found[0].length;
    const codes = /^\x1b\[([0-9;]*)m$/.exec(found[0]);
    if (codes) withCodes(state, codes[1] ?? "");
  }
  add(cut.slice(begin));
  return pieces;
}

/** The text alone. */
export function plain(line: string): string {
  return line.replace(unprintable, "");
}
