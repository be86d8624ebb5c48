// sprig: what is drawn at random. The sources draw, so that tests know what comes.
#include "runtime/base/base64.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/text.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::templates::sprig_random_family {
namespace {

Result<std::string> uuid(Context& context) {
  return uuid_of(NOMAD_TRY(context.sources())->random(16), 4);
}

/// As many of `letters` as asked for. 256 is no multiple of their number: bytes beyond the last
/// whole one are drawn again.
Result<Value> random_text(Context& context, std::int64_t count, std::string_view letters) {
  if (count <= 0) return Value::text("");
  NOMAD_TRY(context.make(static_cast<std::size_t>(count)));
  NOMAD_TRY(context.step(static_cast<std::uint64_t>(count)));
  Sources& sources = *NOMAD_TRY(context.sources());
  const std::size_t fair = 256 - 256 % letters.size();
  std::string out;
  while (out.size() < static_cast<std::size_t>(count)) {
    for (const char byte : sources.random(static_cast<std::size_t>(count) - out.size()))
      if (const std::size_t value = static_cast<unsigned char>(byte); value < fair)
        out += letters[value % letters.size()];
  }
  return Value::text(std::move(out));
}

/// Digits, then letters.
constexpr std::string_view alphanumeric
    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

template <std::size_t from, std::size_t to>
Result<Value> random_alphanumeric(Context& context, std::int64_t count) {
  return random_text(context, count, alphanumeric.substr(from, to - from));
}

/// What can be printed.
Result<Value> random_ascii(Context& context, std::int64_t count) {
  std::string letters;
  for (char c = ' '; c <= '~'; ++c)
    letters += c;
  return random_text(context, count, letters);
}

Result<std::string> random_bytes(Context& context, std::int64_t count) {
  if (count < 0) return function_error("runtime error: makeslice: len out of range");
  NOMAD_TRY(context.make(static_cast<std::size_t>(count)));
  Sources& sources = *NOMAD_TRY(context.sources());
  return encode_base64(sources.random(static_cast<std::size_t>(count)));
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

Result<std::int64_t> random_integer(Context& context, std::int64_t least, std::int64_t end) {
  if (end <= least) return function_error("invalid argument to Intn");
  const auto span = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(least);
  Sources& sources = *NOMAD_TRY(context.sources());
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(least) + random_below(sources, span));
}

/// The characters of a text in another order.
Result<std::string> shuffle(Context& context, std::string_view text) {
  Sources& sources = *NOMAD_TRY(context.sources());
  NOMAD_TRY(context.step(text.size()));
  auto characters = split_text(text, "");
  for (std::size_t left = characters.size(); left > 1; --left)
    std::swap(characters[left - 1], characters[random_below(sources, left)]);
  return join(characters, "");
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      bind<uuid>("sprig_uuidv4"),
      bind<random_alphanumeric<0, 62>>("sprig_randAlphaNum"),
      bind<random_alphanumeric<10, 62>>("sprig_randAlpha"),
      bind<random_alphanumeric<0, 10>>("sprig_randNumeric"),
      bind<random_ascii>("sprig_randAscii"),
      bind<random_bytes>("sprig_randBytes"),
      bind<random_integer>("sprig_randInt"),
      bind<shuffle>("sprig_shuffle"),
  };
  return table;
}

}  // namespace nomad::templates::sprig_random_family
