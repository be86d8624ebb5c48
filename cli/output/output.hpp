// -json and -t: how a command prints what the API answered instead of its own layout.
#pragma once

#include <optional>
#include <string>

#include <boost/json/value.hpp>

#include "cli/arguments.hpp"

namespace nomad::cli {

struct OutputFlags {
  bool json = false;
  std::string format;  ///< A Go template; empty: none.

  OutputFlags() = default;

  explicit OutputFlags(Arguments& arguments) { add_to(arguments); }

  void add_to(Arguments& arguments);

  bool requested() const { return json || !format.empty(); }

  /// Prints `value` as asked for; the exit code when something was asked for.
  std::optional<int> print(const boost::json::value& value) const;
};

}  // namespace nomad::cli
