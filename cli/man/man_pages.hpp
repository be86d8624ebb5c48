// Manual pages (man(7)) of the program, of its groups of commands and of each command, made of what
// `-help` is made of. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.hpp"

namespace nomad::cli {

struct ManPage {
  std::string name;  ///< "nomadctl-job-run"; the file is that and ".1".
  std::string text;
};

/// The page of the command or group of that name, of the program for "". `date` is what its foot
/// shows: "2026-11-30". An empty text: there is no such name.
ManPage man_page(const CommandTree& commands, std::string_view name, std::string_view date);

/// All of them: the program's first, the rest by name.
std::vector<ManPage> man_pages(const CommandTree& commands, std::string_view date);

}  // namespace nomad::cli
