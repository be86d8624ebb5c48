// config validate: whether an agent would start with these files, without starting it.
#include <iostream>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/run.hpp"
#include "runtime/config/addresses.hpp"
#include "runtime/config/agent_config.hpp"

namespace nomad::cli {

Result<int> run_config_validate(const std::vector<std::string>& arguments) {
  Arguments command{"config validate <path>...",
                    "Checks configuration files and folders of them, which are one configuration "
                    "as for an agent."};
  if (auto code = command.parse(arguments, any_words)) return *code;
  const auto& paths = command.positional();
  if (paths.empty()) return command.misuse("Must specify at least one config file or directory");
  config::AgentConfig config;
  for (const auto& path : paths) {
    const auto before = config.files.size();
    auto next = config::with_path(std::move(config), path);
    if (!next) {
      std::cerr << next.error().what << '\n';
      return 1;
    }
    config = std::move(*next);
    if (config.files.size() == before)
      std::cerr << fmt::format("No configuration loaded from {}\n", path);
  }
  for (const auto& warning : config.warnings)
    std::cerr << fmt::format("Warning: {}\n", warning);
  auto complete = config::with_addresses(std::move(config), config::LocalAddresses::read());
  const auto valid = complete ? config::validate(*complete) : Result<>{complete.error()};
  if (!valid) {
    std::cerr << valid.error().what << "\nConfiguration is invalid\n";
    return 1;
  }
  for (const auto& remark : config::remarks(*complete))
    std::cerr << fmt::format("Warning: {}\n", remark);
  std::cout << "Configuration is valid!\n";
  return 0;
}

}  // namespace nomad::cli
