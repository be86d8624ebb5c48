// A task hook: before a task starts, a file with the allocation's id is written into its directory;
// the task finds it by STAMP_FILE, and its events say so.
#include <fstream>

#include <nomadctl/plugin/plugin.hpp>

using namespace nomad;
using namespace nomad::plugin;

namespace {

std::string file_name;

Result<HookAnswer> write_file(HookRunner& runner, const HookCall& call) {
  const auto path = call.task_dir() + "/local/" + file_name;
  std::ofstream file{path};
  file << call.alloc_id() << '\n';
  file.close();
  if (!file) return Error{Errc::io, "can't write " + path};
  runner.event("Stamp", "wrote local/" + file_name);
  return HookAnswer{.done = true,
                    .environment = {{"STAMP_FILE", call.env("NOMAD_TASK_DIR") + '/' + file_name}}};
}

}  // namespace

void describe(Plugin& plugin) {
  plugin.is("stamp", "1.0.0");
  plugin.config({{.name = "file"}});
  plugin.on_configure([](const Config& config) -> Result<> {
    file_name = config.text("file", "stamp.txt");
    if (file_name.find('/') != std::string::npos)
      return Error{Errc::invalid_argument, "file: a name without slashes is expected"};
    return {};
  });
  plugin.task_hook({.name = "stamp",
                    .after = "task_dir",
                    .phases = {Phase::PRESTART},
                    .reads_environment = true},
                   hook_of(write_file));
}

NOMADCTL_PLUGIN(describe)
