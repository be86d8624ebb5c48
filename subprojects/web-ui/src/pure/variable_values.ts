// The values of a job's HCL variables, as one text: that of its -var-file, and what was given name by name.

export interface GivenValues {
  Source: string;
  Variables?: string;
  VariableFlags?: Record<string, string> | null;
}

/** A string of HCL: nothing in it is a template. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(/\\./g, (escape) => (escape === "\\b" ? "\\u0008" : escape === "\\f" ? "\\u000c" : escape)).replace(/[$%]\{/g, (begin) => begin.charAt(0) + begin);
}

/** Whether the job says that this is a string, whatever it looks like. */
function isString(name: string, source: string): boolean {
  return new RegExp(`\\bvariable\\s+"?${name.replace(/[^\w-]/g, "\\$&")}"?\\s*\\{[^{}]*\\btype\\s*=\\s*string\\b`).test(source);
}

/** Of a flag the agent takes strings, numbers and booleans as they are, which may be quoted; lists and maps it reads as HCL. */
function valueOf(name: string, text: string, source: string): string {
  return /^\s*[[{]/.test(text) && !isString(name, source) ? text.trim() : quoted(text);
}

/** As in a file for -var-file. A name that both the file and a flag give stands there twice, which the agent refuses. */
export function valuesOf({ Source, Variables, VariableFlags }: GivenValues): string {
  const flags = Object.entries(VariableFlags ?? {}).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, text]) => `${name} = ${valueOf(name, text, Source)}\n`).join("");
  const file = Variables ?? "";
  return file !== "" && flags !== "" && !file.endsWith("\n") ? `${file}\n${flags}` : file + flags;
}
