// What the words of a command line name, and the lists of commands.
#include "cli/command_tree.hpp"

#include <array>

#include <doctest/doctest.h>

#include "cli/run.hpp"

using namespace nomad::cli;
using Words = std::vector<std::string>;

namespace {

constexpr Command sample_commands[] = {
    {"agent-info", "Shows counts", run_version},
    {"node pool apply", "Puts a pool", run_version},
    {"node pool list", "Lists the pools", run_version},
    {"node status", "Lists nodes", run_version},
    {"run", "Runs a job", run_version},
    {"status", "Shows all", run_version},
};
constexpr CommandGroup sample_groups[]
    = {{"node", "Works on nodes"}, {"node pool", "Works on pools"}};
constexpr CommandTree tree{sample_commands, sample_groups};

std::string found(const Words& words) {
  std::size_t used = 0;
  const Command* command = tree.find(words, used);
  return command == nullptr ? "" : std::string{command->name} + '/' + std::to_string(used);
}

}  // namespace

TEST_CASE("command tree: the longest name counts, and what follows is the command's") {
  CHECK(found({"node", "pool", "list", "-json"}) == "node pool list/3");
  CHECK(found({"status", "node"}) == "status/1");
  CHECK(found({"node", "pool"}).empty());
  CHECK(found({"nodes"}).empty());
  CHECK(found({}).empty());
}

TEST_CASE("command tree: a group is what commands begin with, whole words only") {
  CHECK(tree.group_of(Words{"node", "pool", "-h"}) == "node pool");
  CHECK(tree.group_of(Words{"node", "nosuch"}) == "node");
  CHECK(tree.group_of(Words{"agent"}).empty());  // agent-info does not lie below it
  CHECK(tree.group_of(Words{"node pool"}) == "node pool");
  CHECK(tree.group_of(Words{}).empty());
}

TEST_CASE("command tree: a mistyped command or group is recognized") {
  CHECK(tree.nearest(Words{"node", "pol", "list"}) == "node pool list");
  CHECK(tree.nearest(Words{"stats"}) == "status");
  CHECK(tree.nearest(Words{"node", "pol"}) == "node pool");
  CHECK(tree.nearest(Words{"something"}).empty());
  CHECK(tree.nearest(Words{"nude"}) == "node");
  CHECK(tree.nearest(Words{"nuts"}).empty());  // it is no more like "node" than not
}

TEST_CASE("command tree: the list of a group has the commands and groups right below it") {
  CHECK(tree.help("node")
        == "Usage: nomadctl node <subcommand> [options] [args]\n"
           "\n"
           "  Works on nodes.\n"
           "\n"
           "Subcommands:\n"
           "    pool      Works on pools\n"
           "    status    Lists nodes\n");
  CHECK(tree.help("node pool")
        == "Usage: nomadctl node pool <subcommand> [options] [args]\n"
           "\n"
           "  Works on pools.\n"
           "\n"
           "Subcommands:\n"
           "    apply    Puts a pool\n"
           "    list     Lists the pools\n");
}

TEST_CASE("command tree: the list of all begins with what is used most") {
  CHECK(tree.help("")
        == "Usage: nomadctl [-version] [-help] [-autocomplete-(un)install] <command> [args]\n"
           "\n"
           "Common commands:\n"
           "    run           Runs a job\n"
           "    status        Shows all\n"
           "    node          Works on nodes\n"
           "\n"
           "Other commands:\n"
           "    agent-info    Shows counts\n");
}
