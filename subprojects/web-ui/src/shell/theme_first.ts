// Runs before the first paint: the theme that the user has chosen; none is the system's.
{
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset["theme"] = chosen;
  } catch {
    // A browser that keeps nothing: the system's theme.
  }
}
