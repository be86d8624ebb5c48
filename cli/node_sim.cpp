// node-sim: becomes the program nomadctl-node-sim, so that this one needn't carry a whole client on
// a pretended machine.
#include <cerrno>
#include <iostream>

#include <unistd.h>

#include "cli/arguments.hpp"
#include "cli/programs.hpp"
#include "cli/run.hpp"
#include "runtime/host/process/run_program.hpp"

namespace nomad::cli {

Result<int> run_node_sim(const std::vector<std::string>& arguments) {
  const auto program = NOMAD_TRY(find_program("nomadctl-node-sim"));
  if (arguments.size() == 1 && arguments[0] == Arguments::show_shape) {
    // Whoever asks for that goes on.
    const auto shown = NOMAD_TRY(
        host::run_program({.program = program, .arguments = arguments, .environment = {}}));
    std::cout << shown.output;
    return shown.exit_code;
  }
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const auto& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  execv(words.front(), words.data());
  return errno_error(program, errno);
}

}  // namespace nomad::cli
