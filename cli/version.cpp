// version: what this program is and what it is compatible with.
#include <iostream>

#include "cli/arguments.hpp"
#include "cli/run.hpp"

namespace nomad::cli {

Result<int> run_version(const std::vector<std::string>& arguments) {
  Arguments flags{"version", "Prints the version of nomadctl and of the API that it speaks."};
  if (auto code = flags.parse(arguments)) return *code;
  std::cout << "nomadctl v" NOMADCTL_VERSION " (Nomad v1.6.5 API)\n";
  return 0;
}

}  // namespace nomad::cli
