// sprig: what is drawn at random. The sources draw, so that tests know what comes.
#include <algorithm>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/template/functions/families.hpp"

namespace nomad::templates::sprig_random_family {
namespace {

/// 16 random bytes as a UUID of version 4.
Result<Value> uuid(Call& call) {
  std::string bytes = NOMAD_TRY(call.context.sources())->random(16);
  bytes[6] = static_cast<char>((static_cast<unsigned char>(bytes[6]) & 0x0FU) | 0x40U);
  bytes[8] = static_cast<char>((static_cast<unsigned char>(bytes[8]) & 0x3FU) | 0x80U);
  std::string out = to_hex(bytes);
  for (const std::size_t at : {20U, 16U, 12U, 8U})
    out.insert(at, "-");
  return Value::text(std::move(out));
}

/// As many of `letters` as asked for. 256 is no multiple of their number: bytes beyond the last
/// whole one are drawn again.
Result<Value> random_text(Call& call, std::string_view letters) {
  const std::int64_t count = call.integer(0);
  if (count <= 0) return Value::text("");
  NOMAD_TRY(call.context.make(static_cast<std::size_t>(count)));
  NOMAD_TRY(call.context.step(static_cast<std::uint64_t>(count)));
  Sources& sources = *NOMAD_TRY(call.context.sources());
  const std::size_t fair = 256 - 256 % letters.size();
  std::string out;
  while (out.size() < static_cast<std::size_t>(count)) {
    for (const char byte : sources.random(static_cast<std::size_t>(count) - out.size()))
      if (const std::size_t value = static_cast<unsigned char>(byte); value < fair)
        out += letters[value % letters.size()];
  }
  return Value::text(std::move(out));
}

constexpr std::string_view alphanumeric
    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

Result<Value> random_alphanumeric(Call& call) {
  return random_text(call, alphanumeric);
}

Result<Value> random_letters(Call& call) {
  return random_text(call, alphanumeric.substr(10));
}

Result<Value> random_digits(Call& call) {
  return random_text(call, alphanumeric.substr(0, 10));
}

/// What can be printed.
Result<Value> random_ascii(Call& call) {
  std::string letters;
  for (char c = ' '; c <= '~'; ++c)
    letters += c;
  return random_text(call, letters);
}

Result<Value> random_bytes(Call& call) {
  const std::int64_t count = call.integer(0);
  if (count < 0) return function_error("runtime error: makeslice: len out of range");
  NOMAD_TRY(call.context.make(static_cast<std::size_t>(count)));
  Sources& sources = *NOMAD_TRY(call.context.sources());
  return made_text(call.context, encode_base64(sources.random(static_cast<std::size_t>(count))));
}

/// Below `limit`, all alike: what is beyond the last whole multiple of it is drawn again.
std::uint64_t random_below(Sources& sources, std::uint64_t limit) {
  const std::uint64_t rest = (0 - limit) % limit;
  for (;;) {
    std::uint64_t value = 0;
    for (const char byte : sources.random(8))
      value = value << 8U | static_cast<unsigned char>(byte);
    if (value >= rest) return value % limit;
  }
}

Result<Value> random_integer(Call& call) {
  const std::int64_t least = call.integer(0);
  if (call.integer(1) <= least) return function_error("invalid argument to Intn");
  const auto span = static_cast<std::uint64_t>(call.integer(1)) - static_cast<std::uint64_t>(least);
  Sources& sources = *NOMAD_TRY(call.context.sources());
  return Value::integer(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + random_below(sources, span)));
}

/// The characters of a text in another order.
Result<Value> shuffle(Call& call) {
  Sources& sources = *NOMAD_TRY(call.context.sources());
  const std::string_view text = call.text(0);
  NOMAD_TRY(call.context.step(text.size()));
  std::vector<std::string_view> characters;
  for (std::size_t at = 0; at < text.size(); at += characters.back().size())
    characters.push_back(text.substr(at, decode_utf8(text, at).length));
  for (std::size_t left = characters.size(); left > 1; --left)
    std::swap(characters[left - 1], characters[random_below(sources, left)]);
  return made_text(call.context, join(characters, ""));
}

}  // namespace

std::span<const Function> functions() {
  static const std::vector<const Type*> count{&types::integer};
  static const Function table[] = {
      {"sprig_uuidv4", {}, false, uuid},
      {"sprig_randAlphaNum", count, false, random_alphanumeric},
      {"sprig_randAlpha", count, false, random_letters},
      {"sprig_randNumeric", count, false, random_digits},
      {"sprig_randAscii", count, false, random_ascii},
      {"sprig_randBytes", count, false, random_bytes},
      {"sprig_randInt", {&types::integer, &types::integer}, false, random_integer},
      {"sprig_shuffle", {&types::text}, false, shuffle},
  };
  return table;
}

}  // namespace nomad::templates::sprig_random_family
