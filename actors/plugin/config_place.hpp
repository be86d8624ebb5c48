// Where in the agent's files a mistake of a plugin's configuration stands. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace nomad::plugin {

/// "start.hcl:7: plugin.stamp.config: interval: expected a duration". `what` is as `apply_fields`
/// says it; `places` are those of the keys, by their paths below `config`, and of the block by "".
std::string place_error(std::string_view plugin,
                        std::string_view what,
                        const std::map<std::string, std::string>& places);

}  // namespace nomad::plugin
