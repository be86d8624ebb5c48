// What somebody may have meant whose name of an object is none: the names that there are, asked for
// once a look-up has failed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/api.hpp"

namespace nomad::cli {

/// At most so many names are compared.
inline constexpr int most_compared_names = 5'000;

/// `; did you mean "web"?`, of the nearest of the names; "" when none is like `given`.
std::string meant_among(std::string_view given, const std::vector<std::string>& names);

/// The same of a list of the API, whose objects have their name in `member`. "" also when it can't
/// be read: what went wrong before is told, and nothing else.
std::string meant_of_list(Api& api,
                          const std::string& list_path,
                          std::string_view given,
                          std::string_view member = "Name");

/// The same of nodes, which are looked up by their ids: also who gave a node's name is told its id.
std::string meant_node(Api& api, std::string_view given);

/// The error of a look-up with that behind it, where nothing of that name was found.
Error with_meant(Api& api,
                 Error failed,
                 const std::string& list_path,
                 std::string_view given,
                 std::string_view member = "Name");

}  // namespace nomad::cli
