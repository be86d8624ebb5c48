// The start: signs in by a one-time token if the address has one, connects, and draws. Links to pages are followed here.
import { options, render } from "preact";
import { announce } from "./parts/parts.tsx";
import { visible, visibleChildren } from "./parts/visible.ts";
import { send, said } from "./store/api.ts";
import { connect, useToken } from "./store/live.ts";
import { listenToKeys } from "./shell/keys.ts";
import { Layout } from "./shell/layout.tsx";
import { listenForFailures } from "./shell/notify.ts";
import { go, inRegion, place, setParameter } from "./shell/router.ts";

function isOurs(anchor: HTMLAnchorElement): boolean {
  return anchor.origin === location.origin && anchor.pathname.startsWith("/ui/") && anchor.dataset["reload"] === undefined;
}

function followLinks(): void {
  // A link that the browser follows itself, into another tab, is of the same region, too.
  document.addEventListener("pointerdown", (event) => {
    const anchor = event.target instanceof Element ? event.target.closest("a") : null;
    if (anchor instanceof HTMLAnchorElement && isOurs(anchor)) anchor.href = inRegion(anchor.pathname + anchor.search);
  }, true);
  document.addEventListener("click", (event) => {
    const anchor = event.target instanceof Element ? event.target.closest<HTMLAnchorElement | SVGAElement>("a") : null;
    if (anchor instanceof SVGAElement && !event.defaultPrevented && event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
      event.preventDefault();
      go(anchor.href.baseVal);
      return;
    }
    if (!(anchor instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (!isOurs(anchor) || anchor.target !== "" || anchor.hasAttribute("download")) return;
    event.preventDefault();
    go(anchor.pathname + anchor.search);
    document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  });
}

/** Whoever wrote it: of no text on a page is the direction turned round. */
function showMarks(): void {
  const before = options.vnode;
  options.vnode = (vnode) => {
    if (typeof vnode.type === "string") {
      const props = vnode.props as { children?: unknown; title?: unknown };
      if (props.children !== undefined) props.children = visibleChildren(props.children);
      if (typeof props.title === "string") props.title = visible(props.title);
    }
    before?.(vnode);
  };
}

/** ?ott=…: the secret counts once and leaves the address before anything else. */
async function exchangeOneTimeToken(): Promise<void> {
  const secret = place.value.query.get("ott");
  if (!secret) return;
  setParameter("ott", "");
  try {
    const { Token } = await send<{ Token: { SecretID: string } }>("POST", "/v1/acl/token/onetime/exchange", {}, { OneTimeSecretID: secret });
    useToken(Token.SecretID);
    announce("Signed in");
  } catch (wrong) {
    announce(`The one-time token was not taken (${said(wrong)}): it counts once, and for ten minutes`, true);
  }
}

async function start(): Promise<void> {
  if (place.value.path.length === 0) go(`/ui/jobs${location.search}`, true);
  connect(document.body.dataset["worker"] ?? "");
  await exchangeOneTimeToken();
  showMarks();
  followLinks();
  listenForFailures();
  listenToKeys();
  const app = document.getElementById("app");
  if (app) render(<Layout />, app);
}

void start();
