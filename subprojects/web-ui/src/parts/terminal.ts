// A terminal in the page: xterm, whose <style> elements the policy forbids, so that they become sheets of the document.
import type { Terminal } from "@xterm/xterm";

/** From now on a new <style> is a hidden element whose text goes into a constructed sheet. */
function replaceStyles(): void {
  const marker = "nomadStyles";
  if (marker in document) return;
  Object.defineProperty(document, marker, { value: true });
  const make = document.createElement.bind(document) as (name: string, options?: ElementCreationOptions) => HTMLElement;
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    if (name.toLowerCase() !== "style") return make(name, options);
    const sheet = new CSSStyleSheet();
    const stand_in = make("span");
    stand_in.hidden = true;
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    const remove = stand_in.remove.bind(stand_in);
    stand_in.remove = () => { document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet); remove(); };
    Object.defineProperty(stand_in, "textContent", { set: (text: string) => sheet.replaceSync(text), get: () => "" });
    Object.defineProperty(stand_in, "sheet", { get: () => sheet });
    return stand_in;
  }) as typeof document.createElement;
}

export interface Screen {
  terminal: Terminal;
  size(): { height: number; width: number };
  fit(): void;
  end(): void;
}

export async function openScreen(host: HTMLElement): Promise<Screen> {
  replaceStyles();
  const [{ Terminal }, { FitAddon }] = await Promise.all([import("@xterm/xterm"), import("@xterm/addon-fit")]);
  const terminal = new Terminal({ fontFamily: "ui-monospace, monospace", fontSize: 13, cursorBlink: false, screenReaderMode: true, scrollback: 10_000,
    theme: { background: "#111418", foreground: "#e6e8ea" } });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  terminal.open(host);
  fit.fit();
  return { terminal, size: () => ({ height: terminal.rows, width: terminal.cols }), fit: () => fit.fit(), end: () => terminal.dispose() };
}
