// sprig: texts, defaults, encodings, digests, regular expressions.
#include <algorithm>

#include "runtime/base/base64.hpp"
#include "runtime/base/text.hpp"
#include "runtime/template/functions/families.hpp"
#include "runtime/template/functions/regex.hpp"
#include "runtime/template/functions/sprig.hpp"
#include "runtime/template/text/digest.hpp"
#include "runtime/template/text/strings.hpp"
#include "runtime/template/text/words.hpp"
#include "runtime/template/value/number_text.hpp"

namespace nomad::templates::sprig_text_family {
namespace {

Result<Value> made(Call& call, std::string text) {
  return made_text(call.context, std::move(text));
}

Error too_long() {
  return {Errc::too_large, "the text gets too long"};
}

/// A function of a text that gives one no longer than a few times it.
template <std::string (*Change)(std::string_view)>
Result<Value> change(Call& call) {
  return made(call, Change(call.text(0)));
}

std::string trimmed(std::string_view text) {
  return std::string{trim_space(text)};
}

std::string snake(std::string_view text) {
  return separated_words(text, '_');
}

std::string kebab(std::string_view text) {
  return separated_words(text, '-');
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

Result<Value> repeat(Call& call) {
  if (call.integer(0) < 0) return function_error("strings: negative Repeat count");
  const auto count = static_cast<std::size_t>(call.integer(0));
  const std::string_view text = call.text(1);
  if (!text.empty() && count > call.context.room() / text.size()) return too_long();
  std::string out;
  if (!text.empty())
    for (std::size_t i = 0; i < count; ++i)
      out += text;
  return made(call, std::move(out));
}

Result<Value> truncate(Call& call) {
  const std::int64_t count = call.integer(0);
  const std::string_view text = call.text(1);
  const auto size = static_cast<std::int64_t>(text.size());
  if (count < 0 && size + count > 0)
    return made(call, std::string{text.substr(static_cast<std::size_t>(size + count))});
  if (count >= 0 && size > count)
    return made(call, std::string{text.substr(0, static_cast<std::size_t>(count))});
  return call[1];
}

Result<Value> substring(Call& call) {
  const std::int64_t start = call.integer(0);
  std::int64_t end = call.integer(1);
  const std::string_view text = call.text(2);
  const auto size = static_cast<std::int64_t>(text.size());
  const std::int64_t from = std::max<std::int64_t>(start, 0);
  if (start >= 0 && (end < 0 || end > size)) end = size;
  if (end < 0 || end > size || from > end)
    return function_error("runtime error: slice bounds out of range");
  return made(call, std::string{text.substr(static_cast<std::size_t>(from),
                                            static_cast<std::size_t>(end - from))});
}

Result<Value> trim_all(Call& call) {
  return made(call, std::string{trim_characters(call.text(1), call.text(0))});
}

Result<Value> trim_prefix(Call& call) {
  std::string_view text = call.text(1);
  if (text.starts_with(call.text(0))) text.remove_prefix(call.text(0).size());
  return made(call, std::string{text});
}

Result<Value> trim_suffix(Call& call) {
  std::string_view text = call.text(1);
  if (text.ends_with(call.text(0))) text.remove_suffix(call.text(0).size());
  return made(call, std::string{text});
}

Result<Value> abbreviate(Call& call) {
  return made(call, abbreviated(call.text(1), call.integer(0)));
}

Result<Value> abbreviate_both(Call& call) {
  return made(call, abbreviated_both(call.text(2), call.integer(0), call.integer(1)));
}

Result<Value> wrap(Call& call) {
  return made(call, wrapped(call.text(1), call.integer(0), "", false));
}

Result<Value> wrap_with(Call& call) {
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(call.integer(0), 1));
  if (call.text(1).size() > call.context.room() / (call.text(2).size() / width + 1))
    return too_long();
  return made(call, wrapped(call.text(2), call.integer(0), call.text(1), true));
}

Result<Value> has_part(Call& call) {
  return Value::boolean(call.text(1).find(call.text(0)) != std::string_view::npos);
}

Result<Value> has_prefix(Call& call) {
  return Value::boolean(call.text(1).starts_with(call.text(0)));
}

Result<Value> has_suffix(Call& call) {
  return Value::boolean(call.text(1).ends_with(call.text(0)));
}

/// The arguments but nil, each as `show` has it, with spaces between.
template <class Show>
Result<Value> spaced(Call& call, Show show) {
  std::string out;
  bool first = true;
  for (const Value& argument : call.arguments) {
    if (argument.is_invalid()) continue;
    if (!std::exchange(first, false)) out += ' ';
    out += show(NOMAD_TRY(text_of(call.context, argument)));
    if (out.size() > call.context.room()) return too_long();
  }
  return made(call, std::move(out));
}

Result<Value> quote_all(Call& call) {
  return spaced(call, [](const std::string& text) { return quote(text); });
}

Result<Value> single_quote_all(Call& call) {
  return spaced(call, [](const std::string& text) { return '\'' + text + '\''; });
}

Result<Value> concatenate(Call& call) {
  return spaced(call, [](std::string text) { return text; });
}

Result<std::string> indented(Call& call) {
  if (call.integer(0) < 0) return function_error("strings: negative Repeat count");
  const auto spaces = static_cast<std::size_t>(call.integer(0));
  const std::string_view text = call.text(1);
  const auto lines = static_cast<std::size_t>(std::ranges::count(text, '\n')) + 1;
  if (spaces > call.context.room() / lines) return too_long();
  const std::string pad(spaces, ' ');
  return pad + replace_all(text, "\n", "\n" + pad);
}

Result<Value> indent(Call& call) {
  return made(call, NOMAD_TRY(indented(call)));
}

Result<Value> new_line_indent(Call& call) {
  return made(call, '\n' + NOMAD_TRY(indented(call)));
}

Result<Value> replace(Call& call) {
  NOMAD_TRY(call.context.make(replaced_size(call.text(2), call.text(0), call.text(1))));
  return Value::text(replace_all(call.text(2), call.text(0), call.text(1)));
}

Result<Value> plural(Call& call) {
  return call.integer(2) == 1 ? call[0] : call[1];
}

Result<Value> to_text(Call& call) {
  return made(call, NOMAD_TRY(text_of(call.context, call[0])));
}

Result<Value> atoi(Call& call) {
  const auto found = parse_integer(call.text(0), 10);
  return Value::integer(found.fault ? (*found.fault == NumberFault::range ? found.value : 0)
                                    : found.value);
}

Value numbered(const std::vector<std::string>& parts) {
  auto map = std::make_shared<Map>();
  for (std::size_t i = 0; i < parts.size(); ++i)
    map->set("_" + std::to_string(i), Value::text(parts[i]));
  return Value::map(std::move(map), types::text_map);
}

Result<Value> split_numbered(Call& call) {
  NOMAD_TRY(call.context.step(call.text(1).size()));
  return numbered(split_text(call.text(1), call.text(0)));
}

Result<Value> split_n(Call& call) {
  NOMAD_TRY(call.context.step(call.text(2).size()));
  return numbered(split_text(call.text(2), call.text(0), call.integer(1)));
}

Result<Value> split_list(Call& call) {
  NOMAD_TRY(call.context.step(call.text(1).size()));
  return Value::texts(split_text(call.text(1), call.text(0)));
}

Result<Value> join_all(Call& call) {
  const auto texts = NOMAD_TRY(texts_of(call.context, call[1]));
  std::size_t size = texts.size() * call.text(0).size();
  for (const auto& text : texts)
    size += text.size();
  if (size > call.context.room()) return too_long();
  return made(call, join(texts, call.text(0)));
}

Result<Value> to_texts(Call& call) {
  return Value::texts(NOMAD_TRY(texts_of(call.context, call[0])));
}

Result<Value> sort_texts(Call& call) {
  auto texts = NOMAD_TRY(texts_of(call.context, call[0]));
  std::ranges::sort(texts);
  return Value::texts(texts);
}

/// A pattern that is none panics, of which Go's template makes an error of the function.
/// The functions whose names begin with "must" answer in the words of the parser instead.
enum class Refusal : std::uint8_t { panic, error };

Result<Regex> compiled(Call& call, Refusal refusal) {
  auto regex = Regex::compile(call.text(0));
  if (regex || refusal == Refusal::error) return regex;
  const std::string_view pattern = call.text(0);
  const bool has_backquote = pattern.find('`') != std::string_view::npos;
  const std::string shown = has_backquote ? quote(pattern) : '`' + std::string{pattern} + '`';
  return function_error("regexp: Compile(" + shown + "): " + regex.error().what);
}

Result<Value> regex_match(Call& call) {
  const auto regex = Regex::compile(call.text(0));
  return Value::boolean(regex && regex->matches(call.text(1)));
}

Result<Value> must_regex_match(Call& call) {
  return Value::boolean(NOMAD_TRY(Regex::compile(call.text(0))).matches(call.text(1)));
}

template <Refusal refusal>
Result<Value> regex_find(Call& call) {
  const Regex regex = NOMAD_TRY(compiled(call, refusal));
  const auto found = regex.find_all(call.text(1), 1);
  return made(call, found.empty() ? "" : found[0]);
}

template <Refusal refusal>
Result<Value> regex_find_all(Call& call) {
  const Regex regex = NOMAD_TRY(compiled(call, refusal));
  NOMAD_TRY(call.context.step(call.text(1).size()));
  return Value::texts(regex.find_all(call.text(1), call.integer(2)));
}

template <Refusal refusal>
Result<Value> regex_replace_all(Call& call) {
  const Regex regex = NOMAD_TRY(compiled(call, refusal));
  return Value::text(NOMAD_TRY(regex.replace_all(call.context, call.text(1), call.text(2), true)));
}

template <Refusal refusal>
Result<Value> regex_replace_literal(Call& call) {
  const Regex regex = NOMAD_TRY(compiled(call, refusal));
  return Value::text(NOMAD_TRY(regex.replace_all(call.context, call.text(1), call.text(2), false)));
}

template <Refusal refusal>
Result<Value> regex_split(Call& call) {
  const Regex regex = NOMAD_TRY(compiled(call, refusal));
  NOMAD_TRY(call.context.step(call.text(1).size()));
  return Value::texts(regex.split(call.text(1), call.integer(2)));
}

const Type* const text_type = &types::text;
const Type* const integer_type = &types::integer;

std::span<const Function> changes() {
  static const std::vector<const Type*> one{text_type};
  static const Function table[] = {
      {"sprig_trim", one, false, change<trimmed>},
      {"sprig_upper", one, false, change<upper_text>},
      {"sprig_lower", one, false, change<lower_text>},
      {"sprig_title", one, false, change<title_text>},
      {"sprig_untitle", one, false, change<uncapitalized>},
      {"sprig_nospace", one, false, change<without_space>},
      {"sprig_initials", one, false, change<initials>},
      {"sprig_swapcase", one, false, change<swap_case>},
      {"sprig_snakecase", one, false, change<snake>},
      {"sprig_camelcase", one, false, change<camel_case>},
      {"sprig_kebabcase", one, false, change<kebab>},
      {"sprig_sha1sum", one, false, change<sha1_hex>},
      {"sprig_sha256sum", one, false, change<sha256_hex>},
      {"sprig_adler32sum", one, false, change<adler32>},
      {"sprig_b64enc", one, false, change<encode_base64>},
      {"sprig_b64dec", one, false, change<base64_decoded>},
      {"sprig_b32enc", one, false, change<encode_base32>},
      {"sprig_b32dec", one, false, change<base32_decoded>},
      {"sprig_regexQuoteMeta", one, false, change<quote_meta>},
      {"sprig_atoi", one, false, atoi},
  };
  return table;
}

}  // namespace

std::span<const Function> functions() {
  static const std::vector<const Type*> any{&types::any};
  static const std::vector<const Type*> two{text_type, text_type};
  static const std::vector<const Type*> three{text_type, text_type, text_type};
  static const std::vector<const Type*> count_and_text{integer_type, text_type};
  static const std::vector<const Type*> texts_and_count{text_type, text_type, integer_type};
  static const std::vector<Function> table = [] {
    std::vector<Function> out{
        {"sprig_repeat", count_and_text, false, repeat},
        {"sprig_trunc", count_and_text, false, truncate},
        {"sprig_substr", {integer_type, integer_type, text_type}, false, substring},
        {"sprig_trimall", two, false, trim_all},
        {"sprig_trimAll", two, false, trim_all},
        {"sprig_trimPrefix", two, false, trim_prefix},
        {"sprig_trimSuffix", two, false, trim_suffix},
        {"sprig_abbrev", count_and_text, false, abbreviate},
        {"sprig_abbrevboth", {integer_type, integer_type, text_type}, false, abbreviate_both},
        {"sprig_wrap", count_and_text, false, wrap},
        {"sprig_wrapWith", {integer_type, text_type, text_type}, false, wrap_with},
        {"sprig_contains", two, false, has_part},
        {"sprig_hasPrefix", two, false, has_prefix},
        {"sprig_hasSuffix", two, false, has_suffix},
        {"sprig_quote", any, true, quote_all},
        {"sprig_squote", any, true, single_quote_all},
        {"sprig_cat", any, true, concatenate},
        {"sprig_indent", count_and_text, false, indent},
        {"sprig_nindent", count_and_text, false, new_line_indent},
        {"sprig_replace", three, false, replace},
        {"sprig_plural", texts_and_count, false, plural},
        {"sprig_toString", any, false, to_text},
        {"sprig_split", two, false, split_numbered},
        {"sprig_splitn", {text_type, integer_type, text_type}, false, split_n},
        {"sprig_splitList", two, false, split_list},
        {"sprig_join", {text_type, &types::any}, false, join_all},
        {"sprig_toStrings", any, false, to_texts},
        {"sprig_sortAlpha", any, false, sort_texts},
        {"sprig_regexMatch", two, false, regex_match},
        {"sprig_mustRegexMatch", two, false, must_regex_match},
        {"sprig_regexFind", two, false, regex_find<Refusal::panic>},
        {"sprig_mustRegexFind", two, false, regex_find<Refusal::error>},
        {"sprig_regexFindAll", texts_and_count, false, regex_find_all<Refusal::panic>},
        {"sprig_mustRegexFindAll", texts_and_count, false, regex_find_all<Refusal::error>},
        {"sprig_regexReplaceAll", three, false, regex_replace_all<Refusal::panic>},
        {"sprig_mustRegexReplaceAll", three, false, regex_replace_all<Refusal::error>},
        {"sprig_regexReplaceAllLiteral", three, false, regex_replace_literal<Refusal::panic>},
        {"sprig_mustRegexReplaceAllLiteral", three, false, regex_replace_literal<Refusal::error>},
        {"sprig_regexSplit", texts_and_count, false, regex_split<Refusal::panic>},
        {"sprig_mustRegexSplit", texts_and_count, false, regex_split<Refusal::error>},
    };
    const auto more = changes();
    out.insert(out.end(), more.begin(), more.end());
    return out;
  }();
  return table;
}

}  // namespace nomad::templates::sprig_text_family
