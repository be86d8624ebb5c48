// Where an error of a job file is.

/** The line that the text of an error names, counted from 1; null without one. */
export function lineOf(text: string): number | null {
  // ":3,5-9: …" of HCL, "line 3" of people, "at 3:5".
  const found = /:(\d+),\d+(?:-\d+(?:,\d+)?)?/.exec(text) ?? /\bline (\d+)/i.exec(text) ?? /\bat (\d+):\d+/.exec(text);
  return found?.[1] ? Number(found[1]) : null;
}
