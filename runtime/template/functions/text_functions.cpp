// Texts: join, split, trim…, replaceAll, regex…, to…, base64…, digests, indent, parse….
#include <algorithm>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/regex.hpp"
#include "runtime/template/text/digest.hpp"
#include "runtime/template/text/strings.hpp"
#include "runtime/template/value/number_text.hpp"

namespace nomad::templates::text_family {
namespace {

const std::vector<const Type*> one_text{&types::text};
const std::vector<const Type*> two_texts{&types::text, &types::text};
const std::vector<const Type*> three_texts{&types::text, &types::text, &types::text};

Result<Value> made(Call& call, std::string_view text) {
  return made_text(call.context, std::string{text});
}

Result<Value> join_texts(Call& call) {
  std::size_t size = 0;
  for (const Value& item : call[1].items())
    size += item.size() + call.text(0).size();
  NOMAD_TRY(call.context.make(size));
  std::string out;
  for (const Value& item : call[1].items()) {
    if (&item != &call[1].items().front()) out += call.text(0);
    out += item.as_text();
  }
  return Value::text(std::move(out));
}

Result<Value> split_to_texts(Call& call) {
  const std::string_view text = trim_space(call.text(1));
  NOMAD_TRY(call.context.make(text.size()));
  NOMAD_TRY(call.context.step(text.size()));
  if (text.empty()) return Value::list({}, types::text_list);
  return Value::texts(split_text(text, call.text(0)));
}

Result<Value> split_to_map(Call& call) {
  const std::string_view text = trim_space(call.text(2));
  auto map = std::make_shared<Map>();
  if (text.empty()) return Value::map(std::move(map), types::text_map);
  NOMAD_TRY(call.context.make(text.size()));
  NOMAD_TRY(call.context.step(text.size()));
  for (const std::string& part : split_text(text, call.text(0))) {
    const std::size_t at = part.find(call.text(1));
    if (at == std::string::npos) continue;
    map->set(part.substr(0, at), Value::text(part.substr(at + call.text(1).size())));
  }
  return Value::map(std::move(map), types::text_map);
}

Result<Value> trim_set(Call& call) {
  return made(call, trim_characters(call.text(1), call.text(0)));
}

Result<Value> trim_prefix(Call& call) {
  std::string_view text = call.text(1);
  if (text.starts_with(call.text(0))) text.remove_prefix(call.text(0).size());
  return made(call, text);
}

Result<Value> trim_suffix(Call& call) {
  std::string_view text = call.text(1);
  if (text.ends_with(call.text(0))) text.remove_suffix(call.text(0).size());
  return made(call, text);
}

Result<Value> trim_blank(Call& call) {
  return made(call, trim_space(call.text(0)));
}

Result<Value> replace_texts(Call& call) {
  NOMAD_TRY(call.context.make(replaced_size(call.text(2), call.text(0), call.text(1))));
  return Value::text(replace_all(call.text(2), call.text(0), call.text(1)));
}

Result<Value> regex_replace(Call& call) {
  const Regex regex = NOMAD_TRY(Regex::compile(call.text(0)));
  return Value::text(NOMAD_TRY(regex.replace_all(call.context, call.text(2), call.text(1), true)));
}

Result<Value> regex_match(Call& call) {
  return Value::boolean(NOMAD_TRY(Regex::compile(call.text(0))).matches(call.text(1)));
}

Result<Value> to_lower_text(Call& call) {
  return made(call, lower_text(call.text(0)));
}

Result<Value> to_upper_text(Call& call) {
  return made(call, upper_text(call.text(0)));
}

Result<Value> to_title(Call& call) {
  return made(call, title_words(call.text(0)));
}

Result<Value> base64_encode(Call& call) {
  return made(call, encode_base64(call.text(0)));
}

Result<Value> base64_url_encode(Call& call) {
  return made(call, encode_base64_url(call.text(0)));
}

Result<Value> base64_decode(Call& call) {
  auto bytes = decode_base64(call.text(0));
  if (!bytes) return function_error("base64Decode: " + bytes.error().what);
  return made(call, *bytes);
}

Result<Value> base64_url_decode(Call& call) {
  auto bytes = decode_base64_url(call.text(0));
  if (!bytes) return function_error("base64URLDecode: " + bytes.error().what);
  return made(call, *bytes);
}

Result<Value> indent(Call& call) {
  if (call.integer(0) < 0) return function_error("indent value must be a positive integer");
  const auto spaces = static_cast<std::size_t>(call.integer(0));
  const std::string_view text = call.text(1);
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  if (spaces > call.context.room() / lines) return Error{Errc::too_large, "the text gets too long"};
  NOMAD_TRY(call.context.make(text.size() + spaces * lines));
  std::string out;
  bool starts = true;
  for (const char c : text) {
    if (starts && c != '\n') out.append(spaces, ' ');
    out += c;
    starts = c == '\n';
  }
  return Value::text(std::move(out));
}

/// `parseInt: strconv.ParseInt: parsing "x": invalid syntax`
Error parse_error(std::string_view name,
                  std::string_view go_name,
                  std::string_view text,
                  NumberFault fault) {
  return function_error(
      std::string{name} + ": strconv." + std::string{go_name} + ": parsing " + quote(text)
      + (fault == NumberFault::range ? ": value out of range" : ": invalid syntax"));
}

Result<Value> parse_bool(Call& call) {
  const std::string_view text = call.text(0);
  for (const std::string_view word : {"1", "t", "T", "true", "TRUE", "True"})
    if (text == word) return Value::boolean(true);
  for (const std::string_view word : {"", "0", "f", "F", "false", "FALSE", "False"})
    if (text == word) return Value::boolean(false);
  return parse_error("parseBool", "ParseBool", text, NumberFault::syntax);
}

Result<Value> parse_float(Call& call) {
  if (call.text(0).empty()) return Value::number(0);
  const auto found = parse_number(call.text(0));
  if (found.fault) return parse_error("parseFloat", "ParseFloat", call.text(0), *found.fault);
  return Value::number(found.value);
}

Result<Value> parse_int(Call& call) {
  if (call.text(0).empty()) return Value::integer(0, types::int64);
  const auto found = parse_integer(call.text(0), 10);
  if (found.fault) return parse_error("parseInt", "ParseInt", call.text(0), *found.fault);
  return Value::integer(found.value, types::int64);
}

Result<Value> parse_uint(Call& call) {
  if (call.text(0).empty()) return Value::natural(0);
  const auto found = parse_natural(call.text(0), 10);
  if (found.fault) return parse_error("parseUint", "ParseUint", call.text(0), *found.fault);
  return Value::natural(found.value);
}

Result<Value> md5(Call& call) {
  return made(call, md5_hex(call.text(0)));
}

Result<Value> sha256(Call& call) {
  return made(call, sha256_hex(call.text(0)));
}

Result<Value> hmac(Call& call) {
  return made(call, hmac_sha256_hex(call.text(1), call.text(0)));
}

}  // namespace

std::span<const Function> functions() {
  static const Function table[] = {
      {"base64Decode", one_text, false, base64_decode},
      {"base64Encode", one_text, false, base64_encode},
      {"base64URLDecode", one_text, false, base64_url_decode},
      {"base64URLEncode", one_text, false, base64_url_encode},
      {"hmacSHA256Hex", two_texts, false, hmac},
      {"indent", {&types::integer, &types::text}, false, indent},
      {"join", {&types::text, &types::text_list}, false, join_texts},
      {"md5sum", one_text, false, md5},
      {"parseBool", one_text, false, parse_bool},
      {"parseFloat", one_text, false, parse_float},
      {"parseInt", one_text, false, parse_int},
      {"parseUint", one_text, false, parse_uint},
      {"regexMatch", two_texts, false, regex_match},
      {"regexReplaceAll", three_texts, false, regex_replace},
      {"replaceAll", three_texts, false, replace_texts},
      {"sha256Hex", one_text, false, sha256},
      {"split", two_texts, false, split_to_texts},
      {"splitToMap", three_texts, false, split_to_map},
      {"toLower", one_text, false, to_lower_text},
      {"toTitle", one_text, false, to_title},
      {"toUpper", one_text, false, to_upper_text},
      {"trim", two_texts, false, trim_set},
      {"trimPrefix", two_texts, false, trim_prefix},
      {"trimSpace", one_text, false, trim_blank},
      {"trimSuffix", two_texts, false, trim_suffix},
  };
  return table;
}

}  // namespace nomad::templates::text_family
