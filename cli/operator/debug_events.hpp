// What `operator debug` makes of the event stream: which topics it asks for, and what of an event
// may stand in an archive that is handed to strangers. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::cli {

/// The topics of -event-topic, "Topic:filter" each: none of "none", everything of "all". Errors
/// name what is no topic, and those that there are.
Result<std::vector<std::string>> parse_event_topics(std::string_view text);

/// The events of one line of the stream, each in a line of its own: of a heartbeat none. Of a job's
/// specification, which may have passwords in it, only what identifies it is kept; secrets of
/// tokens and of auth methods are left out. Errors say that the line is no JSON.
Result<std::string> event_lines(std::string_view line);

}  // namespace nomad::cli
