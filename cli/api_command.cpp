#include "cli/api_command.hpp"

#include <iostream>

#include "cli/monitor.hpp"

namespace nomad::cli {

std::optional<int> ApiCommand::start(const std::vector<std::string>& arguments,
                                     const WordCount& words) {
  if (auto code = parse(arguments, words)) return code;
  const auto made = connect();
  return made ? std::nullopt : std::optional{fail(made.error())};
}

Result<Api*> ApiCommand::connect() {
  api.emplace(NOMAD_TRY(Api::make(common, answer_timeout)));
  return &*api;
}

void Action::add_detach() {
  flag("detach", detach, "Returns at once instead of following the evaluation.");
}

int Action::end(const std::string& eval_id) {
  if (eval_id.empty()) return 0;
  if (!detach) return monitor_evaluation(*api, eval_id, {.verbose = verbose});
  std::cout << "Evaluation ID: " << eval_id << '\n';
  return 0;
}

}  // namespace nomad::cli
