// Names that commands had once: they say what they are called now, and run it.
#include <iostream>
#include <string_view>

#include <fmt/format.h>

#include "cli/output/terminal_text.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

Result<int> run_renamed(std::string_view old_name,
                        std::string_view name,
                        Result<int> (*run)(const std::vector<std::string>&),
                        const std::vector<std::string>& arguments) {
  std::cerr << fmt::format(
      "WARNING! The \"{0} {1}\" command is deprecated. Please use \"{0} {2}\" instead. This "
      "command will be removed in a later version.\n\n",
      program_name(), old_name, name);
  return run(arguments);
}

}  // namespace

Result<int> run_old_client_config(const std::vector<std::string>& arguments) {
  return run_renamed("client-config", "node config", run_node_config, arguments);
}

Result<int> run_old_server_force_leave(const std::vector<std::string>& arguments) {
  return run_renamed("server-force-leave", "server force-leave", run_server_force_leave, arguments);
}

Result<int> run_old_server_join(const std::vector<std::string>& arguments) {
  return run_renamed("server-join", "server join", run_server_join, arguments);
}

Result<int> run_old_server_members(const std::vector<std::string>& arguments) {
  return run_renamed("server-members", "server members", run_server_members, arguments);
}

}  // namespace nomad::cli
