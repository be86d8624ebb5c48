// Texts: join, split, trim…, replaceAll, regex…, to…, base64…, digests, indent, parse….
#include <algorithm>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/shared.hpp"
#include "runtime/text/digest.hpp"
#include "runtime/text/letters.hpp"
#include "runtime/text/number_text.hpp"
#include "runtime/text/regex.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::templates::text_family {
namespace {

Result<Value> join_texts(Context& context, std::string_view separator, As<types::text_list> list) {
  std::size_t size = 0;
  for (const Value& item : list->items())
    size += item.size() + separator.size();
  NOMAD_TRY(context.make(size));
  std::vector<std::string_view> texts;
  for (const Value& item : list->items())
    texts.push_back(item.as_text());
  return Value::text(join(texts, separator));
}

/// The parts of a text without its outer spaces; none of an empty one.
Result<std::vector<std::string_view>> parts_of(Context& context,
                                               std::string_view text,
                                               std::string_view separator) {
  text = trim_space(text);
  NOMAD_TRY(context.make(text.size()));
  NOMAD_TRY(context.step(text.size()));
  if (text.empty()) return std::vector<std::string_view>{};
  return split_text(text, separator);
}

Result<Value> split_to_texts(Context& context, std::string_view separator, std::string_view text) {
  return Value::texts(NOMAD_TRY(parts_of(context, text, separator)));
}

Result<Value> split_to_map(Context& context,
                           std::string_view separator,
                           std::string_view between,
                           std::string_view text) {
  auto map = std::make_shared<Map>();
  for (const std::string_view part : NOMAD_TRY(parts_of(context, text, separator)))
    if (const std::size_t at = find_text(part, between); at != std::string_view::npos)
      map->set(part.substr(0, at), Value::text(std::string{part.substr(at + between.size())}));
  return Value::map(std::move(map), types::text_map);
}

Result<std::string> regex_replace(Context& context,
                                  std::string_view pattern,
                                  std::string_view with,
                                  std::string_view text) {
  const Regex regex = NOMAD_TRY(Regex::compile(pattern, context.work()));
  return regex.replace_all(text, with, true, context.room(), context.work());
}

Result<bool> regex_match(Context& context, std::string_view pattern, std::string_view text) {
  return NOMAD_TRY(Regex::compile(pattern, context.work())).matches(text, context.work());
}

Result<std::string> base64_decode(std::string_view text) {
  return decode_base64(text).within("base64Decode");
}

Result<std::string> base64_url_decode(std::string_view text) {
  return decode_base64_url(text).within("base64URLDecode");
}

Result<Value> indent(Context& context, std::int64_t count, std::string_view text) {
  if (count < 0) return function_error("indent value must be a positive integer");
  const auto spaces = static_cast<std::size_t>(count);
  const std::size_t lines = count_text(text, "\n") + 1;
  if (spaces > context.room() / lines) return too_long();
  NOMAD_TRY(context.make(text.size() + spaces * lines));
  std::string out;
  bool starts = true;
  for (const char c : text) {
    if (starts && c != '\n') out.append(spaces, ' ');
    out += c;
    starts = c == '\n';
  }
  return Value::text(std::move(out));
}

Result<bool> bool_of(std::string_view text) {
  if (text.empty()) return false;
  return parse_bool(text).within("parseBool");
}

Result<double> float_of(std::string_view text) {
  if (text.empty()) return 0.0;
  return parse_float(text).within("parseFloat");
}

Result<Value> int_of(std::string_view text) {
  return Value::integer(NOMAD_TRY(parse_int64(text)), types::int64);
}

Result<std::uint64_t> uint_of(std::string_view text) {
  if (text.empty()) return std::uint64_t{0};
  return parse_uint(text, 10).within("parseUint");
}

std::string md5_hex(std::string_view text) {
  return to_hex(md5(text));
}

std::string hmac_hex(std::string_view text, std::string_view key) {
  return to_hex(hmac_sha256(key, text));
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      bind<base64_decode>("base64Decode"),
      bind<encode_base64>("base64Encode"),
      bind<base64_url_decode>("base64URLDecode"),
      bind<encode_base64_url>("base64URLEncode"),
      bind<hmac_hex>("hmacSHA256Hex"),
      bind<indent>("indent"),
      bind<join_texts>("join"),
      bind<md5_hex>("md5sum"),
      bind<bool_of>("parseBool"),
      bind<float_of>("parseFloat"),
      bind<int_of>("parseInt"),
      bind<uint_of>("parseUint"),
      bind<regex_match>("regexMatch"),
      bind<regex_replace>("regexReplaceAll"),
      bind<replaced>("replaceAll"),
      bind<sha256_hex>("sha256Hex"),
      bind<split_to_texts>("split"),
      bind<split_to_map>("splitToMap"),
      bind<lower_case>("toLower"),
      bind<title_words>("toTitle"),
      bind<upper_case>("toUpper"),
      bind_piped<trim_characters>("trim"),
      bind_piped<trim_prefix>("trimPrefix"),
      bind<trim_space>("trimSpace"),
      bind_piped<trim_suffix>("trimSuffix"),
  };
  return table;
}

}  // namespace nomad::templates::text_family
