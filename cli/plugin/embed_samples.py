"""Makes the C++ source that holds the samples of plugins. usage: embed_samples.py OUT DEPFILE SUBPROJECTS"""
import os
import sys

out, depfile, root = sys.argv[1:]
SAMPLES = ("stamp", "ledger", "webhook", "naps", "tools", "ttys", "labels", "filesd")
FILES = [(f"plugin-{sample}", sample, name) for sample in SAMPLES for name in ("meson.build", f"{sample}.cpp", f"{sample}_test.cpp")]
FILES.append(("plugin-python", "count", "count.py"))

lines = ["// The samples of plugins, as text.", '#include "cli/plugin/samples.hpp"', "",
         "namespace nomad::cli {", "namespace {", "", "constexpr SampleFile files[] = {"]
paths = []
for folder, sample, name in FILES:
    paths.append(os.path.join(root, folder, name))
    with open(paths[-1]) as f:
        text = f.read()
    assert ')sample"' not in text
    lines.append(f'    {{"{sample}", "{name}", R"sample({text})sample"}},')
lines += ["};", "", "}  // namespace", "", "std::span<const SampleFile> plugin_samples() {", "  return files;", "}", "",
          "}  // namespace nomad::cli", ""]
with open(out, "w") as f:
    f.write("\n".join(lines))
with open(depfile, "w") as f:
    f.write(f"{out}: {' '.join(paths)}\n")
