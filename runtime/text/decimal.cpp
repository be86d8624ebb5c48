#include "runtime/text/decimal.hpp"

#include <algorithm>
#include <cstdlib>

namespace nomad {
namespace {

char digit_at(const Decimal& decimal, std::size_t i) {
  return i < decimal.digits.size() ? decimal.digits[i] : '0';
}

bool rounds_up(const Decimal& decimal, std::size_t count) {
  if (decimal.digits[count] == '5' && count + 1 == decimal.digits.size())
    return count > 0 && (decimal.digits[count - 1] - '0') % 2 != 0;  // exactly half: to even
  return decimal.digits[count] >= '5';
}

}  // namespace

void Decimal::strip_zeros() {
  while (!digits.empty() && digits.back() == '0')
    digits.pop_back();
  if (digits.empty()) point = 0;
}

void Decimal::round(std::int64_t count) {
  if (count < 0 || count >= size()) return;
  if (rounds_up(*this, static_cast<std::size_t>(count)))
    round_up(count);
  else
    round_down(count);
}

void Decimal::round_down(std::int64_t count) {
  if (count < 0 || count >= size()) return;
  digits.resize(static_cast<std::size_t>(count));
  strip_zeros();
}

void Decimal::round_up(std::int64_t count) {
  if (count < 0 || count >= size()) return;
  auto at = static_cast<std::size_t>(count);
  while (at > 0 && digits[at - 1] == '9')
    --at;
  if (at == 0) {  // all nines
    digits = "1";
    ++point;
    return;
  }
  digits.resize(at);
  ++digits[at - 1];
}

std::string Decimal::fixed(std::int64_t count) const {
  std::string out;
  if (point > 0)
    for (std::int64_t i = 0; i < point; ++i)
      out += digit_at(*this, static_cast<std::size_t>(i));
  else
    out += '0';
  if (count <= 0) return out;
  out += '.';
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = point + i;
    out += at < 0 ? '0' : digit_at(*this, static_cast<std::size_t>(at));
  }
  return out;
}

std::string Decimal::scientific(std::int64_t count, char letter) const {
  std::string out{digit_at(*this, 0)};
  if (count > 0) out += '.';
  for (std::int64_t i = 1; i <= count; ++i)
    out += digit_at(*this, static_cast<std::size_t>(i));
  const std::int64_t exponent = digits.empty() ? 0 : point - 1;
  const std::string shown = std::to_string(std::abs(exponent));
  return out + letter + (exponent < 0 ? '-' : '+') + (shown.size() < 2 ? "0" : "") + shown;
}

std::string Decimal::general(std::int64_t precision, char letter) const {
  constexpr std::int64_t shortest_limit = 6;
  const bool is_shortest = precision < 0;
  Decimal rounded = *this;
  if (!is_shortest) {
    precision = std::max<std::int64_t>(precision, 1);
    rounded.round(precision);
  }
  const std::int64_t count = rounded.size();
  if (is_shortest) precision = count;
  std::int64_t limit = precision > count && count >= rounded.point ? count : precision;
  if (is_shortest) limit = shortest_limit;
  const std::int64_t exponent = rounded.point - 1;
  if (exponent < -4 || exponent >= limit)
    return rounded.scientific(std::min(precision, count) - 1, letter);
  if (precision > rounded.point) precision = count;
  return rounded.fixed(std::max<std::int64_t>(precision - rounded.point, 0));
}

}  // namespace nomad
