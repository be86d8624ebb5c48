// The tables of commands and of their groups, made of commands.def.
#include <algorithm>
#include <array>

#include "cli/command_tree.hpp"
#include "cli/run.hpp"

namespace nomad::cli {
namespace {

constexpr auto command_table = [] {
  auto commands = std::to_array<Command>({
#define COMMAND(name, summary, run) {name, summary, run},
#define KIND(id, noun, plural, ...)                                \
  {noun " apply", "Creates or changes a " noun, run_##id##_apply}, \
      {noun " delete", "Removes a " noun, run_##id##_delete},      \
      {noun " info", "Shows a " noun, run_##id##_info},            \
      {noun " list", "Lists the " plural, run_##id##_list},
#include "cli/commands.def"
  });
  std::ranges::sort(commands, {}, &Command::name);
  return commands;
}();

constexpr auto group_table = [] {
  auto groups = std::to_array<CommandGroup>({
#define GROUP(name, summary) {name, summary},
#define KIND(id, noun, plural, ...) {noun, "Works on " plural},
#include "cli/commands.def"
  });
  std::ranges::sort(groups, {}, &CommandGroup::name);
  return groups;
}();

}  // namespace

CommandTree all_commands() {
  return {command_table, group_table};
}

}  // namespace nomad::cli
