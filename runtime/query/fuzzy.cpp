#include "runtime/query/fuzzy.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "runtime/base/sorting/sort_stably.hpp"
#include "runtime/text/letters.hpp"

namespace nomad::query {

FuzzyMatches::FuzzyMatches(std::string_view text, std::size_t most)
    : text_{lower_case(text)}, most_{most} {}

std::optional<std::size_t> FuzzyMatches::find(std::string_view name) const {
  const auto at = lower_case(name).find(text_);
  return at == std::string::npos ? std::nullopt : std::optional{at};
}

bool FuzzyMatches::has_room(std::string_view kind) {
  const auto found = found_.find(kind);
  if ((found == found_.end() ? 0 : found->second.size()) < most_) return true;
  cut(kind);
  return false;
}

void FuzzyMatches::add(std::string_view kind, FuzzyMatch match) {
  found_[std::string{kind}].push_back(std::move(match));
}

std::map<std::string, std::vector<FuzzyMatch>, std::less<>> FuzzyMatches::take() {
  for (auto& [kind, matches] : found_)
    sort_stably(matches, {}, [](const FuzzyMatch& match) {
      return std::tuple{match.at, match.id.size(), std::string_view{match.id}};
    });
  return std::exchange(found_, {});
}

}  // namespace nomad::query
