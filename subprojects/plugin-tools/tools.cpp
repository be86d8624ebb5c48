// A fingerprinter: which programs a node has, as attributes that constraints can ask for:
//
//     constraint { attribute = "${attr.tools.git}"  value = "true" }
#include <sstream>

#include <unistd.h>

#include <nomadctl/plugin/plugin.hpp>

using namespace nomad;
using namespace nomad::plugin;

namespace {

std::vector<std::string> programs;

bool is_there(const std::string& program) {
  const char* path = getenv("PATH");
  std::istringstream directories{path == nullptr ? "/usr/bin:/bin" : path};
  for (std::string directory; std::getline(directories, directory, ':');)
    if (access((directory + '/' + program).c_str(), X_OK) == 0) return true;
  return false;
}

Result<std::map<std::string, std::string>> look(Agent&) {
  std::map<std::string, std::string> attributes;
  for (const auto& program : programs)
    attributes["tools." + program] = is_there(program) ? "true" : "false";
  return attributes;
}

}  // namespace

void describe(Plugin& plugin) {
  plugin.is("tools", "1.0.0");
  plugin.config({{.name = "programs", .kind = ConfigKind::TEXTS}});
  plugin.on_configure([](const Config& config) -> Result<> {
    programs = config.texts("programs");
    if (programs.empty()) programs = {"git", "make"};
    for (const auto& program : programs)
      if (program.find('/') != std::string::npos)
        return Error{Errc::invalid_argument, "programs: \"" + program + "\" is a path, no name"};
    return {};
  });
  plugin.fingerprinter("tools", std::chrono::minutes{1}, look);
}

NOMADCTL_PLUGIN(describe)
