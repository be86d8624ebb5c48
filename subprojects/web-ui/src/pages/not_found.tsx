// What is not there, and the way back.
import type { JSX } from "preact";
import { Heading } from "../parts/parts.tsx";
import { place } from "../shell/router.ts";

export function NotFound({ what, back }: { what: string; back: { href: string; text: string } }): JSX.Element {
  return <><Heading title="Not found">Not found</Heading><p>{what} does not exist, or not any more.</p><p><a href={back.href}>Back to {back.text}</a></p></>;
}

export function NotFoundPage(): JSX.Element {
  return <NotFound what={`A page at /${["ui", ...place.value.path].join("/")}`} back={{ href: "/ui/jobs", text: "Jobs" }} />;
}
