// node-sim: becomes the program nomadctl-node-sim, so that this one needn't carry a whole client on
// a pretended machine.
#include <cerrno>

#include <unistd.h>

#include "cli/programs.hpp"
#include "cli/run.hpp"

namespace nomad::cli {

Result<int> run_node_sim(const std::vector<std::string>& arguments) {
  const auto program = NOMAD_TRY(find_program("nomadctl-node-sim"));
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const auto& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  execv(words.front(), words.data());
  return errno_error(program, errno);
}

}  // namespace nomad::cli
