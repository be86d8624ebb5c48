// The few `${…}` names that are replaced when a job is registered, and quoting as Go's %q does it
// in names and messages.
#pragma once

#include <string>
#include <string_view>

namespace nomad::jobspec {

/// `name` with ${JOB}, ${TASKGROUP}, ${TASK} and ${BASE} replaced.
std::string interpolate_service_name(std::string_view name,
                                     std::string_view job,
                                     std::string_view group,
                                     std::string_view task);

/// `text` with every `${name}` replaced by `replacement`.
std::string replace_references(std::string_view text, std::string_view replacement);

/// Whether `text` holds a `${name}`.
bool has_reference(std::string_view text);

}  // namespace nomad::jobspec
