#include "cli/api_command.hpp"

#include <iostream>

#include <fmt/format.h>

#include "cli/monitor.hpp"

namespace nomad::cli {

ApiCommand::ApiCommand(std::string_view usage, std::string_view about) : parser{usage, about} {
  common.add_to(parser);
}

std::optional<int> ApiCommand::start(const std::vector<std::string>& arguments) {
  if (auto code = parser.parse(arguments)) return code;
  if (!parser.positional().empty()) return parser.misuse("This command takes no arguments");
  return connect();
}

std::optional<int> ApiCommand::start_with(std::string_view name,
                                          const std::vector<std::string>& arguments) {
  if (auto code = parser.parse(arguments)) return code;
  if (parser.positional().size() != 1)
    return parser.misuse(fmt::format("This command takes one argument: {}", name));
  return connect();
}

std::optional<int> ApiCommand::connect() {
  auto made = Api::make(common);
  if (!made) return fail(made.error());
  api.emplace(std::move(*made));
  return std::nullopt;
}

Action::Action(std::string_view usage, std::string_view about) : ApiCommand{usage, about} {
  parser.flag("verbose", verbose, "Shows whole ids.");
}

void Action::add_detach() {
  parser.flag("detach", detach, "Returns at once instead of following the evaluation.");
}

int Action::end(const std::string& eval_id) {
  if (eval_id.empty()) return 0;
  if (!detach) return monitor_evaluation(*api, eval_id, {.verbose = verbose});
  std::cout << "Evaluation ID: " << eval_id << '\n';
  return 0;
}

}  // namespace nomad::cli
