// sprig: texts, defaults, encodings, digests, regular expressions.
#include <algorithm>
#include <bit>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"
#include "runtime/template/eval/bind.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/shared.hpp"
#include "runtime/template/text/words.hpp"
#include "runtime/text/digest.hpp"
#include "runtime/text/letters.hpp"
#include "runtime/text/regex.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::templates::sprig_text_family {
namespace {

std::string snake(std::string_view text) {
  return separated_words(text, '_');
}

std::string kebab(std::string_view text) {
  return separated_words(text, '-');
}

std::string sha1_hex(std::string_view text) {
  return to_hex(sha1(text));
}

/// The text, or else what is wrong with it, as sprig answers.
std::string or_error(Result<std::string> result) {
  return result ? std::move(result).take() : result.error().what;
}

std::string base64_decoded(std::string_view text) {
  return or_error(decode_base64(text));
}

std::string base32_decoded(std::string_view text) {
  return or_error(decode_base32(text));
}

Error negative_count() {
  return function_error("strings: negative Repeat count");
}

Result<std::string> repeat(Context& context, std::int64_t times, std::string_view text) {
  if (times < 0) return negative_count();
  if (text.empty()) return std::string{};
  const auto count = static_cast<std::size_t>(times);
  if (count > context.room() / text.size()) return too_long();
  std::string out;
  for (std::size_t i = 0; i < count; ++i)
    out += text;
  return out;
}

std::string_view truncate(std::int64_t count, std::string_view text) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (count < 0 && size + count > 0) return text.substr(static_cast<std::size_t>(size + count));
  return count >= 0 ? text.substr(0, static_cast<std::size_t>(count)) : text;
}

Result<std::string_view> substring(std::int64_t start, std::int64_t end, std::string_view text) {
  const auto size = static_cast<std::int64_t>(text.size());
  const std::int64_t from = std::max<std::int64_t>(start, 0);
  if (start >= 0 && (end < 0 || end > size)) end = size;
  if (end < 0 || end > size || from > end)
    return function_error("runtime error: slice bounds out of range");
  return text.substr(static_cast<std::size_t>(from), static_cast<std::size_t>(end - from));
}

std::string wrap(std::int64_t width, std::string_view text) {
  return wrapped(text, width, "", false);
}

Result<std::string> wrap_with(Context& context,
                              std::int64_t width,
                              std::string_view line_break,
                              std::string_view text) {
  const auto columns = static_cast<std::size_t>(std::max<std::int64_t>(width, 1));
  if (line_break.size() > context.room() / (text.size() / columns + 1)) return too_long();
  return wrapped(text, width, line_break, true);
}

bool has_part(std::string_view part, std::string_view text) {
  return find_text(text, part) != std::string_view::npos;
}

bool has_prefix(std::string_view prefix, std::string_view text) {
  return text.starts_with(prefix);
}

bool has_suffix(std::string_view suffix, std::string_view text) {
  return text.ends_with(suffix);
}

std::string single_quote(std::string_view text) {
  return '\'' + std::string{text} + '\'';
}

std::string same(std::string_view text) {
  return std::string{text};
}

/// The arguments but nil, each as `show` has it, with spaces between.
template <std::string (*show)(std::string_view)>
Result<std::string> spaced(Context& context, Rest<> arguments) {
  std::string out;
  bool first = true;
  for (const Value& argument : arguments) {
    if (argument.is_invalid()) continue;
    if (!std::exchange(first, false)) out += ' ';
    out += show(NOMAD_TRY(text_of(context, argument)));
    if (out.size() > context.room()) return too_long();
  }
  return out;
}

Result<std::string> indent(Context& context, std::int64_t count, std::string_view text) {
  if (count < 0) return negative_count();
  const auto spaces = static_cast<std::size_t>(count);
  if (spaces > context.room() / (count_text(text, "\n") + 1)) return too_long();
  const std::string pad(spaces, ' ');
  return pad + replace_all(text, "\n", "\n" + pad);
}

Result<std::string> new_line_indent(Context& context, std::int64_t count, std::string_view text) {
  return '\n' + NOMAD_TRY(indent(context, count, text));
}

std::string_view plural(std::string_view one, std::string_view many, std::int64_t count) {
  return count == 1 ? one : many;
}

std::int64_t atoi(std::string_view text) {
  return parse_integer(text, 10).value;
}

Value numbered(const std::vector<std::string_view>& parts) {
  auto map = std::make_shared<Map>();
  for (std::size_t i = 0; i < parts.size(); ++i)
    map->set("_" + std::to_string(i), Value::text(std::string{parts[i]}));
  return Value::map(std::move(map), types::text_map);
}

Result<Value> split_n(Context& context,
                      std::string_view separator,
                      std::int64_t most,
                      std::string_view text) {
  NOMAD_TRY(context.step(text.size()));
  return numbered(split_text(text, separator, most));
}

Result<Value> split_numbered(Context& context, std::string_view separator, std::string_view text) {
  return split_n(context, separator, -1, text);
}

Result<Value> split_list(Context& context, std::string_view separator, std::string_view text) {
  NOMAD_TRY(context.step(text.size()));
  return Value::texts(split_text(text, separator));
}

Result<std::string> join_all(Context& context, std::string_view separator, const Value& list) {
  const auto texts = NOMAD_TRY(texts_of(context, list));
  std::size_t size = texts.size() * separator.size();
  for (const auto& text : texts)
    size += text.size();
  if (size > context.room()) return too_long();
  return join(texts, separator);
}

Result<Value> to_texts(Context& context, const Value& list) {
  return Value::texts(NOMAD_TRY(texts_of(context, list)));
}

Result<Value> sort_texts(Context& context, const Value& list) {
  auto texts = NOMAD_TRY(texts_of(context, list));
  std::uint64_t bytes = 0;
  for (const auto& text : texts)
    bytes += text.size() + Work::step;
  NOMAD_TRY(context.work().take(bytes * std::bit_width(texts.size())));
  std::ranges::sort(texts);
  return Value::texts(texts);
}

/// Whether it is not for what the rendering may take.
bool is_mistake(const Error& err) {
  return err.code == Errc::invalid_argument;
}

/// A pattern that is none panics, of which Go's template makes an error of the function.
/// The functions whose names begin with "must" answer in the words of the parser instead.
enum class Refusal : std::uint8_t { panic, error };

template <Refusal refusal>
Result<Regex> compiled(Context& context, std::string_view pattern) {
  auto regex = Regex::compile(pattern, context.work());
  if (regex || refusal == Refusal::error || !is_mistake(regex.error())) return regex;
  const bool has_backquote = pattern.find('`') != std::string_view::npos;
  const std::string shown = has_backquote ? quote(pattern) : '`' + std::string{pattern} + '`';
  return function_error("regexp: Compile(" + shown + "): " + regex.error().what);
}

Result<bool> must_regex_match(Context& context, std::string_view pattern, std::string_view text) {
  return NOMAD_TRY(Regex::compile(pattern, context.work())).matches(text, context.work());
}

Result<bool> regex_match(Context& context, std::string_view pattern, std::string_view text) {
  auto matches = must_regex_match(context, pattern, text);
  if (!matches && is_mistake(matches.error())) return false;
  return matches;
}

template <Refusal refusal>
Result<std::string_view> regex_find(Context& context,
                                    std::string_view pattern,
                                    std::string_view text) {
  const Regex regex = NOMAD_TRY(compiled<refusal>(context, pattern));
  const auto found = NOMAD_TRY(regex.find_all(text, 1, context.work()));
  return found.empty() ? "" : found[0];
}

template <Refusal refusal>
Result<Value> regex_find_all(Context& context,
                             std::string_view pattern,
                             std::string_view text,
                             std::int64_t most) {
  const Regex regex = NOMAD_TRY(compiled<refusal>(context, pattern));
  NOMAD_TRY(context.step(text.size()));
  return Value::texts(NOMAD_TRY(regex.find_all(text, most, context.work())));
}

/// With `expands`, "$1" stands for a group.
template <Refusal refusal, bool expands>
Result<std::string> regex_replace(Context& context,
                                  std::string_view pattern,
                                  std::string_view text,
                                  std::string_view with) {
  const Regex regex = NOMAD_TRY(compiled<refusal>(context, pattern));
  return regex.replace_all(text, with, expands, context.room(), context.work());
}

template <Refusal refusal>
Result<Value> regex_split(Context& context,
                          std::string_view pattern,
                          std::string_view text,
                          std::int64_t most) {
  const Regex regex = NOMAD_TRY(compiled<refusal>(context, pattern));
  NOMAD_TRY(context.step(text.size()));
  return Value::texts(NOMAD_TRY(regex.split(text, most, context.work())));
}

}  // namespace

std::span<const Function> functions() {
  using enum Refusal;
  static const Function table[] = {
      bind<trim_space>("sprig_trim"),
      bind<upper_case>("sprig_upper"),
      bind<lower_case>("sprig_lower"),
      bind<title_case>("sprig_title"),
      bind<uncapitalized>("sprig_untitle"),
      bind<without_space>("sprig_nospace"),
      bind<initials>("sprig_initials"),
      bind<swap_case>("sprig_swapcase"),
      bind<snake>("sprig_snakecase"),
      bind<camel_case>("sprig_camelcase"),
      bind<kebab>("sprig_kebabcase"),
      bind<sha1_hex>("sprig_sha1sum"),
      bind<sha256_hex>("sprig_sha256sum"),
      bind<adler32>("sprig_adler32sum"),
      bind<encode_base64>("sprig_b64enc"),
      bind<base64_decoded>("sprig_b64dec"),
      bind<encode_base32>("sprig_b32enc"),
      bind<base32_decoded>("sprig_b32dec"),
      bind<quote_meta>("sprig_regexQuoteMeta"),
      bind<atoi>("sprig_atoi"),
      bind<repeat>("sprig_repeat"),
      bind<truncate>("sprig_trunc"),
      bind<substring>("sprig_substr"),
      bind_piped<trim_characters>("sprig_trimall"),
      bind_piped<trim_characters>("sprig_trimAll"),
      bind_piped<trim_prefix>("sprig_trimPrefix"),
      bind_piped<trim_suffix>("sprig_trimSuffix"),
      bind_piped<abbreviated>("sprig_abbrev"),
      bind_piped<abbreviated_both>("sprig_abbrevboth"),
      bind<wrap>("sprig_wrap"),
      bind<wrap_with>("sprig_wrapWith"),
      bind<has_part>("sprig_contains"),
      bind<has_prefix>("sprig_hasPrefix"),
      bind<has_suffix>("sprig_hasSuffix"),
      bind<spaced<quote>>("sprig_quote"),
      bind<spaced<single_quote>>("sprig_squote"),
      bind<spaced<same>>("sprig_cat"),
      bind<indent>("sprig_indent"),
      bind<new_line_indent>("sprig_nindent"),
      bind<replaced>("sprig_replace"),
      bind<plural>("sprig_plural"),
      bind<text_of>("sprig_toString"),
      bind<split_numbered>("sprig_split"),
      bind<split_n>("sprig_splitn"),
      bind<split_list>("sprig_splitList"),
      bind<join_all>("sprig_join"),
      bind<to_texts>("sprig_toStrings"),
      bind<sort_texts>("sprig_sortAlpha"),
      bind<regex_match>("sprig_regexMatch"),
      bind<must_regex_match>("sprig_mustRegexMatch"),
      bind<regex_find<panic>>("sprig_regexFind"),
      bind<regex_find<error>>("sprig_mustRegexFind"),
      bind<regex_find_all<panic>>("sprig_regexFindAll"),
      bind<regex_find_all<error>>("sprig_mustRegexFindAll"),
      bind<regex_replace<panic, true>>("sprig_regexReplaceAll"),
      bind<regex_replace<error, true>>("sprig_mustRegexReplaceAll"),
      bind<regex_replace<panic, false>>("sprig_regexReplaceAllLiteral"),
      bind<regex_replace<error, false>>("sprig_mustRegexReplaceAllLiteral"),
      bind<regex_split<panic>>("sprig_regexSplit"),
      bind<regex_split<error>>("sprig_mustRegexSplit"),
  };
  return table;
}

}  // namespace nomad::templates::sprig_text_family
