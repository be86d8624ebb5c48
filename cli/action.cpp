#include "cli/action.hpp"

#include <iostream>

#include "cli/monitor.hpp"
#include "cli/run.hpp"

namespace nomad::cli {

Action::Action(std::string_view usage, std::string_view about) : parser{usage, about} {
  common.add_to(parser);
  parser.flag("verbose", verbose, "Shows whole ids.");
}

void Action::add_detach() {
  parser.flag("detach", detach, "Returns at once instead of following the evaluation.");
}

std::optional<int> Action::connect() {
  auto made = Api::make(common);
  if (!made) return fail("Error initializing client", made.error());
  api.emplace(std::move(*made));
  return std::nullopt;
}

int Action::end(const std::string& eval_id) {
  if (eval_id.empty()) return 0;
  if (!detach) return monitor_evaluation(*api, eval_id, {.verbose = verbose});
  std::cout << "Evaluation ID: " << eval_id << '\n';
  return 0;
}

}  // namespace nomad::cli
