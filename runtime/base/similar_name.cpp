#include "runtime/base/similar_name.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "runtime/base/utf8.hpp"

namespace nomad {
namespace {

constexpr std::size_t close_enough = 2;
constexpr std::size_t max_name = 64;  // longer names are compared by nobody

enum class Swaps : std::uint8_t { as_two_edits, as_one_edit };

/// Edits (insert, delete, replace a character, or swap two neighbours) that lead from `from` to
/// `to`; each part of the text is edited once.
std::size_t edit_distance(std::string_view from, std::string_view to, Swaps swaps) {
  using Row = std::array<std::size_t, max_name + 1>;
  const std::u32string a = code_points(from);
  const std::u32string b = code_points(to);
  Row before_last{};
  Row last{};
  for (std::size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    Row row{i};
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (swaps == Swaps::as_one_edit && i > 1 && j > 1 && a[i - 1] == b[j - 2]
          && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

/// The nearest within so many edits.
std::string_view closest(std::string_view given,
                         const std::vector<std::string_view>& candidates,
                         std::size_t most) {
  std::string_view best;
  std::size_t best_distance = most + 1;
  if (given.size() > max_name) return {};
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > max_name) continue;
    const std::size_t distance = edit_distance(given, candidate, Swaps::as_one_edit);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace

std::string_view name_suggestion(std::string_view given,
                                 const std::vector<std::string_view>& candidates) {
  if (given.size() > max_name) return {};
  for (const std::string_view candidate : candidates)
    if (candidate.size() <= max_name
        && edit_distance(given, candidate, Swaps::as_two_edits) <= close_enough)
      return candidate;
  return {};
}

std::string_view closest_name(std::string_view given,
                              const std::vector<std::string_view>& candidates) {
  return closest(given, candidates, close_enough);
}

std::string_view closest_word(std::string_view given,
                              const std::vector<std::string_view>& candidates) {
  if (given.empty()) return {};
  return closest(given, candidates, std::min(close_enough, (code_points(given).size() - 1) / 2));
}

}  // namespace nomad
