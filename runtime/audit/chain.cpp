#include "runtime/audit/chain.hpp"

#include <array>
#include <charconv>

#include <sodium/crypto_generichash.h>

#include "runtime/base/text.hpp"

namespace nomad::audit {
namespace {

constexpr std::size_t digits = 64;
constexpr std::string_view seq_key = R"(,"seq":)";
constexpr std::string_view prev_key = R"(,"prev":")";
constexpr std::string_view hash_key = R"(,"hash":")";
constexpr std::string_view line_end = R"("})";

std::string hash_of(std::string_view bytes) {
  std::array<unsigned char, digits / 2> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size(), nullptr, 0);
  return to_hex({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

bool take_end(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

/// The hash at the end of `text`, behind `key`.
std::optional<std::string> take_hash(std::string_view& text, std::string_view key) {
  if (text.size() < digits) return {};
  const auto hash = text.substr(text.size() - digits);
  if (hash.find_first_not_of("0123456789abcdef") != std::string_view::npos) return {};
  text.remove_suffix(digits);
  if (!take_end(text, key)) return {};
  return std::string{hash};
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  const auto at = text.rfind(seq_key);
  if (at == std::string_view::npos) return {};
  const auto number = text.substr(at + seq_key.size());
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (failure != std::errc{} || end != number.data() + number.size() || value == 0) return {};
  return value;
}

}  // namespace

std::string seal(std::string_view open_object, Link& last) {
  std::string line;
  line.reserve(open_object.size() + 200);
  line.append(open_object).append(seq_key).append(std::to_string(last.number + 1));
  line.append(prev_key).append(last.hash).append("\"");
  last = {last.number + 1, hash_of(line)};
  line.append(hash_key).append(last.hash).append(line_end);
  return line;
}

std::optional<ReadLink> read_link(std::string_view line) {
  ReadLink read;
  if (!take_end(line, line_end)) return {};
  auto hash = take_hash(line, hash_key);
  if (!hash) return {};
  read.is_whole = hash_of(line) == *hash;
  read.link.hash = std::move(*hash);
  if (!take_end(line, "\"")) return {};
  auto prev = take_hash(line, prev_key);
  if (!prev) return {};
  read.prev = std::move(*prev);
  const auto number = take_number(line);
  if (!number) return {};
  read.link.number = *number;
  return read;
}

Tail read_tail(std::string_view end) {
  Tail tail;
  const auto last_break = end.rfind('\n');
  const auto whole = last_break == std::string_view::npos ? 0 : last_break + 1;
  tail.torn = end.size() - whole;
  end = end.substr(0, whole);
  while (!end.empty()) {
    end.remove_suffix(1);
    const auto before = end.rfind('\n');
    const auto begin = before == std::string_view::npos ? 0 : before + 1;
    if (const auto read = read_link(end.substr(begin))) {
      tail.last = read->link;
      return tail;
    }
    ++tail.damaged;
    end = end.substr(0, begin);
  }
  return tail;
}

}  // namespace nomad::audit
