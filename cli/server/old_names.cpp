// Names that commands had once: they say what they are called now, and run it.
#include <iostream>
#include <string_view>

#include <fmt/format.h>

#include "cli/output/terminal_text.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

void warn_of_name(std::string_view old_name, std::string_view name) {
  std::cerr << fmt::format(
      "WARNING! The \"{0} {1}\" command is deprecated. Please use \"{0} {2}\" instead. This "
      "command will be removed in a later version.\n\n",
      program_name(), old_name, name);
}

}  // namespace

Result<int> run_old_client_config(const std::vector<std::string>& arguments) {
  warn_of_name("client-config", "node config");
  return run_node_config(arguments);
}

Result<int> run_old_server_force_leave(const std::vector<std::string>& arguments) {
  warn_of_name("server-force-leave", "server force-leave");
  return run_server_force_leave(arguments);
}

Result<int> run_old_server_join(const std::vector<std::string>& arguments) {
  warn_of_name("server-join", "server join");
  return run_server_join(arguments);
}

Result<int> run_old_server_members(const std::vector<std::string>& arguments) {
  warn_of_name("server-members", "server members");
  return run_server_members(arguments);
}

}  // namespace nomad::cli
