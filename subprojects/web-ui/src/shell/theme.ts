// The theme: the system's, or the one that was chosen.
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const order: readonly Theme[] = ["system", "light", "dark"];

export const theme = signal<Theme>((document.documentElement.dataset["theme"] as Theme | undefined) ?? "system");

export function nextTheme(): void {
  chooseTheme(order[(order.indexOf(theme.value) + 1) % order.length] ?? "system");
}

export function chooseTheme(next: Theme): void {
  theme.value = next;
  if (next === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
  try {
    if (next === "system") localStorage.removeItem("theme");
    else localStorage.setItem("theme", next);
  } catch {
    // It holds for this page.
  }
}
