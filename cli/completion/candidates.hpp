// What the user's folders and the agent have that begins as what is being typed.
#pragma once

#include <compare>
#include <set>
#include <string>

#include "cli/completion/typed_line.hpp"
#include "cli/completion/value_kinds.hpp"

namespace nomad::cli {

struct Candidate {
  std::string text;
  std::string about;  ///< What a shell may show beside it; may be empty.

  auto operator<=>(const Candidate&) const = default;
};

using Candidates = std::set<Candidate>;

/// Files and folders, these with a slash. A "~/" stays, and means the user's home.
Candidates files_like(const std::string& typed);

/// Objects that the agent lists, in the region and namespace and by the token of the flags that
/// are given. Asks no longer than half a second; none if it does not answer.
Candidates objects_like(ValueKind kind, const GivenWords& given, const std::string& typed);

}  // namespace nomad::cli
