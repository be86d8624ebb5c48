// The table of commands, made of commands.def.
#include <algorithm>
#include <array>

#include "cli/command.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr auto table = [] {
  auto commands = std::to_array<Command>({
#define COMMAND(name, summary, run) {name, summary, run},
#define KIND(id, noun, plural, ...)                                \
  {noun " apply", "Creates or changes a " noun, run_##id##_apply}, \
      {noun " delete", "Removes a " noun, run_##id##_delete},      \
      {noun " info", "Shows a " noun, run_##id##_info},            \
      {noun " list", "Lists the " plural, run_##id##_list},
#include "cli/commands.def"
#undef KIND
#undef COMMAND
  });
  std::ranges::sort(commands, {}, &Command::name);
  return commands;
}();

}  // namespace

std::span<const Command> commands() {
  return table;
}

}  // namespace nomad::cli
