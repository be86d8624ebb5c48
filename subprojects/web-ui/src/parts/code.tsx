// Text of files, to read and to copy.
import type { JSX } from "preact";
import { announce } from "./parts.tsx";

export function CodeView({ label, text }: { label: string; text: string }): JSX.Element {
  const copy = (): void => { navigator.clipboard?.writeText(text).then(() => announce("Copied"), () => announce("The browser does not allow copying here", true)); };
  return <div class="code"><button type="button" class="plain copy" onClick={copy} aria-label={`Copy ${label.toLowerCase()}`}>Copy</button>
    <pre tabIndex={0} role="region" aria-label={label}>{text}</pre></div>;
}
