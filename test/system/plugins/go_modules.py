"""What tests need that build programs with Go, by modules of its module proxy: where Go is, and what excuses a build that failed."""
import re
import shutil
import subprocess
import tempfile

# A module that is there for sure, whatever a program's own go.mod says: can the proxy be had?
PROBE = "golang.org/x/text@v0.14.0"
# The proxy, or what stands before it, does not give out a module that may well exist.
REFUSED = re.compile(r"reading https?://\S+: (401|403|407|429|5\d\d)\b")


def release(text):
    """"go1.24.3" or "1.24" as numbers."""
    return tuple(int(number) for number in re.findall(r"\d+", text)[:2])


def excuse(said, wanted, go, probe):
    """Why a build that failed is no fault of the program's sources; None if it is. `wanted`: the language of go.mod. `probe()`: what a
    fetch of a module that exists said, None if it came."""
    if release(go) < release(wanted):
        return f"Go is {go}, the program wants {wanted}"
    if refused := REFUSED.search(said):
        return f"the proxy of Go's modules refuses one: {said[refused.start():][:300]}"
    if (problem := probe()) is not None:
        return f"the proxy of Go's modules can't be had: {problem[-300:]}"
    return None


def go_program():
    """None without."""
    return shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")


def probe(go, env):
    """Fetches a small module into an empty cache. What it said if that failed."""
    with tempfile.TemporaryDirectory(prefix="go-probe-") as place:
        done = subprocess.run([go, "mod", "download", PROBE], cwd=place, capture_output=True, text=True, timeout=300,
                              env=dict(env, GOMODCACHE=place + "/cache", GOFLAGS="-modcacherw"))
    return None if done.returncode == 0 else done.stdout + done.stderr
