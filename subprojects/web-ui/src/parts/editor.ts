// The editor of job files: CodeMirror in a shadow root, where its styles may be constructed under the policy.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

interface HclState {
  heredoc: string;
  isComment: boolean;
}

const hcl = StreamLanguage.define<HclState>({
  name: "hcl",
  startState: () => ({ heredoc: "", isComment: false }),
  token(stream, state) {
    if (state.heredoc !== "") {
      if (stream.sol() && stream.string.trim() === state.heredoc) state.heredoc = "";
      stream.skipToEnd();
      return "string";
    }
    if (state.isComment) {
      if (stream.skipTo("*/")) { stream.match("*/"); state.isComment = false; } else stream.skipToEnd();
      return "comment";
    }
    if (stream.eatSpace()) return null;
    if (stream.match("/*")) { state.isComment = true; return "comment"; }
    if (stream.match(/^(#|\/\/).*/)) return "comment";
    const heredoc = stream.match(/^<<-?(\w+)/) as RegExpMatchArray | null;
    if (heredoc) { state.heredoc = heredoc[1] ?? ""; return "string"; }
    if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
    if (stream.match(/^-?\d+(\.\d+)?/)) return "number";
    if (stream.match(/^(true|false|null|for|in|if)\b/)) return "atom";
    if (stream.match(/^[\w-]+(?=\s*=[^=])/)) return "propertyName";
    if (stream.match(/^[\w-]+(?=\s*("[^"]*"\s*)*\{)/)) return "keyword";
    if (stream.match(/^[\w-]+/)) return "variableName";
    stream.next();
    return null;
  },
  languageData: { commentTokens: { line: "#" } },
});

const colors = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-block)" }, { tag: tags.propertyName, color: "var(--code-key)" }, { tag: tags.string, color: "var(--code-text)" },
  { tag: tags.number, color: "var(--code-number)" }, { tag: tags.atom, color: "var(--code-number)" }, { tag: tags.comment, color: "var(--faint)", fontStyle: "italic" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--text)", backgroundColor: "var(--field)" },
  "&.cm-focused": { outline: "2px solid var(--focus)" },
  ".cm-scroller": { fontFamily: "var(--mono)", minHeight: "24rem" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--faint)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
});

/** Text that is typed goes in by a transaction: the browser's own editing would keep the look of what it replaces in style attributes,
    which the policy forbids. */
const typed = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== "insertText" || event.data === null || view.composing) return false;
    // Events in a shadow root have no target ranges. The view may not have heard of the selection yet.
    const root = view.root as (Document | ShadowRoot) & { getSelection?: () => Selection | null };
    const range = (root.getSelection?.() ?? document.getSelection()) as Selection | null;
    if (!range?.anchorNode || !range.focusNode || !view.contentDOM.contains(range.anchorNode) || !view.contentDOM.contains(range.focusNode)) return false;
    const ends = [view.posAtDOM(range.anchorNode, range.anchorOffset), view.posAtDOM(range.focusNode, range.focusOffset)] as const;
    const from = Math.min(...ends);
    const to = Math.max(...ends);
    event.preventDefault();
    const insert = view.state.toText(event.data);
    view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + insert.length }, userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

export interface Editor {
  text(): string;
  setText(text: string): void;
  /** Shows what is wrong at a line, counted from 1. */
  setError(line: number | null, text: string): void;
  end(): void;
}

export function makeEditor(host: HTMLElement, label: string, text: string, changed: (text: string) => void, submit: () => void): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  const parent = document.createElement("div");
  root.replaceChildren(parent);
  const view = new EditorView({
    parent, root,
    state: EditorState.create({
      doc: text,
      extensions: [lineNumbers(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(), EditorView.lineWrapping, highlightSelectionMatches(), lintGutter(), typed,
        indentUnit.of("  "), hcl, syntaxHighlighting(colors), look,
        keymap.of([{ key: "Mod-Enter", run: () => { submit(); return true; } }, indentWithTab, ...defaultKeymap, ...historyKeymap, ...searchKeymap]),
        EditorView.contentAttributes.of({ "aria-label": label, "data-keys": "off" }),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(update.state.doc.toString()); })],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    setText: (text) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } }),
    setError: (number, text) => {
      if (number === null || number < 1 || number > view.state.doc.lines) return view.dispatch(setDiagnostics(view.state, []));
      const line = view.state.doc.line(number);
      view.dispatch(setDiagnostics(view.state, [{ from: line.from, to: line.to, severity: "error", message: text }]));
      view.dispatch({ effects: EditorView.scrollIntoView(line.from, { y: "center" }) });
    },
    end: () => view.destroy(),
  };
}
