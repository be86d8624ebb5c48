// Lines that a plugin of Nomad's writes to its standard error, which are JSON objects of hclog's:
// as lines of this agent's log. Pure.
#pragma once

#include <string>
#include <string_view>

#include "runtime/plugin/sdk/agent.hpp"

namespace nomad::plugin::bridge {

struct LogLine {
  Level level = Level::info;
  std::string text;
};

/// Whether Go says by it that the program breaks off.
inline bool is_panic(std::string_view line) {
  return line.starts_with("panic: ") || line.starts_with("fatal error: ");
}

/// "started the container: id=4711". What is no such object is a line as it stands.
LogLine read_log_line(std::string_view line);

}  // namespace nomad::plugin::bridge
