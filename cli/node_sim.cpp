// node-sim: becomes the program nomadctl-node-sim, so that this one needn't carry a whole client on
// a pretended machine.
#include <cerrno>
#include <iostream>

#include <unistd.h>

#include "cli/programs.hpp"
#include "cli/run.hpp"

namespace nomad::cli {

int run_node_sim(const std::vector<std::string>& arguments) {
  const auto program = find_program("nomadctl-node-sim");
  if (!program) {
    std::cerr << program.error().what << '\n';
    return 1;
  }
  std::vector<char*> words{const_cast<char*>(program->c_str())};
  for (const auto& argument : arguments)
    words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  execv(words.front(), words.data());
  std::cerr << errno_error(*program, errno).what << '\n';
  return 1;
}

}  // namespace nomad::cli
