// How findings are shown.
#include <iostream>
#include <utility>

#include "cli/output/layout.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/why/findings.hpp"

namespace nomad::cli::why {

void print(const Finding& finding) {
  const auto color = finding.weight == Weight::problem   ? "red"
                     : finding.weight == Weight::warning ? "yellow"
                                                         : "green";
  std::cout << '\n' << colored("==> " + one_line(finding.what), color) << '\n';
  for (const auto& line : finding.details)
    std::cout << "    " << one_line(line) << '\n';
  bool is_first = true;
  for (const auto& command : finding.commands)
    std::cout << (std::exchange(is_first, false) ? "    Try: " : "         ") << one_line(command)
              << '\n';
}

}  // namespace nomad::cli::why
