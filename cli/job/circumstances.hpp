// What `job plan -with` supposes: "drain NODE", "remove NODE", "add 3 like NODE".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>

#include "cli/api.hpp"
#include "runtime/base/result.hpp"

namespace nomad::cli {

struct CircumstanceWords {
  enum class Verb : std::uint8_t { drain, remove, add };

  Verb verb = Verb::drain;
  std::string node;        ///< As given: a name, an id or its beginning.
  std::int64_t count = 1;  ///< Of nodes to add.
};

/// Reads one; the error shows the three forms.
Result<CircumstanceWords> read_circumstance(std::string_view text);

/// The id of the node that `word` means, of the list of all of them: by its name, else by the
/// beginning of its id. The error says that there is none, or which ones there are.
Result<std::string> node_meant(const View& nodes, const std::string& word);

/// The member `With` of a plan's request, for all `texts`.
Result<boost::json::array> circumstances(Api& api, const std::vector<std::string>& texts);

}  // namespace nomad::cli
