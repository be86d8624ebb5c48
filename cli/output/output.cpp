#include "cli/output/output.hpp"

#include <iostream>

#include "cli/api.hpp"
#include "cli/output/go_template.hpp"
#include "cli/output/layout.hpp"
#include "cli/output/terminal_text.hpp"

namespace nomad::cli {

void OutputFlags::add_to(Arguments& arguments) {
  arguments.flag("json", json, "Prints the answer as JSON.");
  arguments.option("t", format, "Formats the answer by a Go template.");
}

std::optional<int> OutputFlags::print(const boost::json::value& value) const {
  if (!requested()) return std::nullopt;
  if (json && !format.empty()) {
    std::cerr << "Both json and template formatting are not allowed\n";
    return 1;
  }
  if (json) {
    print_json(value);
    return 0;
  }
  auto text = render_go_template(format, value);
  if (!text) return fail("Error formatting the data", text.error());
  const RawOutput raw;
  std::cout << *text << '\n';
  return 0;
}

}  // namespace nomad::cli
