// Transcripts of a machine: scenarios of events, and below each, indented, what the machine does
// about it. After a wanted change of behaviour run with NOMAD_REWRITE_TRANSCRIPTS=1 and review the
// difference.
//
//   # A sentence, which begins a scenario: a machine is made anew.
//   > event
//     action
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

namespace nomad::test {

/// Each file of `folder` has to be what `replay` makes of it.
inline void check_transcripts(const std::string& folder,
                              const std::function<std::string(const std::string&)>& replay) {
  int files = 0;
  for (const auto& item : std::filesystem::directory_iterator{folder}) {
    ++files;
    CAPTURE(item.path().filename().string());
    std::ifstream in{item.path()};
    const std::string wanted{std::istreambuf_iterator<char>{in}, {}};
    const auto made = replay(wanted);
    CHECK(made == wanted);
    if (std::getenv("NOMAD_REWRITE_TRANSCRIPTS") != nullptr) std::ofstream{item.path()} << made;
  }
  CHECK(files > 0);
}

/// The transcript with what the machine does now. A Player is made for each scenario; its `play`
/// gives the lines that follow from an event.
template <class Player>
std::string replay(const std::string& transcript) {
  std::istringstream lines{transcript};
  std::string played;
  std::optional<Player> player;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) continue;
    played += line + '\n';
    if (line.starts_with('#')) player.emplace();
    if (!line.starts_with("> ")) continue;
    for (const auto& text : player.value().play(line.substr(2)))
      played += "  " + text + '\n';
  }
  return played;
}

}  // namespace nomad::test
