// Small readers that several rules share, with Go's error texts.
#include <vector>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/validate/rules.hpp"

namespace nomad::jobspec {

namespace {

/// Adds the elements of `path` to a cleaned absolute path.
void descend(std::vector<std::string_view>& into, std::string_view path) {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t slash = std::min(path.find('/', at), path.size());
    const std::string_view element = path.substr(at, slash - at);
    if (element == "..") {
      if (!into.empty()) into.pop_back();
    } else if (!element.empty() && element != ".") {
      into.push_back(element);
    }
    at = slash + 1;
  }
}

}  // namespace

bool escapes_allocation(std::string_view prefix, std::string_view path) {
  // Two names that no path can contain stand for the directories above.
  constexpr std::string_view allocations{"\0a", 2};
  constexpr std::string_view allocation{"\0b", 2};
  std::vector<std::string_view> elements{allocations, allocation};
  descend(elements, prefix);
  descend(elements, path);
  if (elements.size() < 2 || elements[0] != allocations || elements[1] != allocation) return true;
  return elements.size() > 2 && elements[2].starts_with("..");
}

bool parse_whole(std::string_view text, std::int64_t& number) {
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (digits.empty()) return false;
  std::int64_t sum = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return false;
    const int digit = negative ? '0' - c : c - '0';
    if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, digit, &sum))
      return false;
  }
  number = sum;
  return true;
}

std::string parse_unsigned(std::string_view text, int base, int bits, std::uint64_t& number) {
  const auto failed = [&](std::string_view why) {
    return fmt::format("strconv.ParseUint: parsing {}: {}", quote(text), why);
  };
  if (text.empty()) return failed("invalid syntax");
  const std::uint64_t limit = bits == 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
  std::uint64_t sum = 0;
  bool overflow = false;
  for (char c : text) {
    if (c < '0' || c >= '0' + base) return failed("invalid syntax");
    overflow = overflow || __builtin_mul_overflow(sum, static_cast<std::uint64_t>(base), &sum)
               || __builtin_add_overflow(sum, static_cast<std::uint64_t>(c - '0'), &sum)
               || sum > limit;
  }
  if (overflow) return failed("value out of range");
  number = sum;
  return {};
}

}  // namespace nomad::jobspec
