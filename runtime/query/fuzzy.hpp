// Fuzzy search: names that contain a text, whatever its case, the best first.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nomad::query {

struct FuzzyMatch {
  std::string id;                  ///< The name that was found.
  std::vector<std::string> scope;  ///< What it is in: namespace, job, group, task.
  std::size_t at = 0;              ///< Where the text begins in it, in bytes.
};

/// What one search has found, by kind of object ("jobs", "tasks"). One thread at a time.
class FuzzyMatches {
public:
  /// Of each kind `most` are kept, those that were offered first.
  FuzzyMatches(std::string_view text, std::size_t most);

  /// Keeps `name` if it contains the text. `scope()` gives what it is in, where that is wanted.
  template <class Scope>
  void offer(std::string_view kind, std::string_view name, Scope scope) {
    const auto at = find(name);
    if (at && has_room(kind)) add(kind, {std::string{name}, scope(), *at});
  }

  /// Notes that not all objects of the kind were looked at.
  void cut(std::string_view kind) { cut_[std::string{kind}] = true; }

  /// Notes that the kind was looked at, so that it is told even if nothing is missing.
  void searched(std::string_view kind) { cut_.try_emplace(std::string{kind}, false); }

  /// The best first: where the text begins earliest, then the shortest name, then by the alphabet.
  std::map<std::string, std::vector<FuzzyMatch>, std::less<>> take();

  /// Of which kinds something is missing, or may be.
  const std::map<std::string, bool, std::less<>>& truncations() const { return cut_; }

private:
  std::optional<std::size_t> find(std::string_view name) const;
  bool has_room(std::string_view kind);
  void add(std::string_view kind, FuzzyMatch match);

  std::string text_;  ///< In lower case.
  std::size_t most_;
  std::map<std::string, std::vector<FuzzyMatch>, std::less<>> found_{};
  std::map<std::string, bool, std::less<>> cut_{};
};

}  // namespace nomad::query
