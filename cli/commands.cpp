// The table of commands, made of commands.def.
#include "cli/command.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr Command table[] = {
#define COMMAND(name, summary, run) {name, summary, run},
#include "cli/commands.def"
#undef COMMAND
};

}  // namespace

std::span<const Command> commands() {
  return table;
}

}  // namespace nomad::cli
