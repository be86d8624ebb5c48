#include "runtime/template/value/printer.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/template/value/format.hpp"
#include "runtime/text/number_text.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::templates {
namespace {

constexpr std::string_view lower_digits = "0123456789abcdefx";
constexpr std::string_view upper_digits = "0123456789ABCDEFX";
constexpr std::string_view nil_angle = "<nil>";

/// Where all pointers point.
constexpr std::uint64_t some_address = 0xc000000000;

/// %#g: a point, and zeros behind it up to the precision.
std::string with_point(std::string text, char format, int precision) {
  int left = 0;
  if (format == 'g' || format == 'G' || format == 'x') left = precision < 0 ? 6 : precision;
  const bool hex = format == 'x' || format == 'X';
  std::size_t end = text.find_first_of(hex ? "pP" : "eE", 1);
  std::string tail;
  if (end != std::string::npos) tail = text.substr(end);
  text.resize(std::min(end, text.size()));
  bool point = false;
  bool significant = false;
  for (const char c : text.substr(1)) {
    if (c == '.') {
      point = true;
      continue;
    }
    if (c != '0') significant = true;
    if (significant) --left;
  }
  if (!point) {
    if (text.size() == 2 && text[1] == '0') --left;
    text += '.';
  }
  if (left > 0) text.append(static_cast<std::size_t>(left), '0');
  return text + tail;
}

}  // namespace

void Printer::padding(std::size_t count) {
  if (count > limit_) overflowed_ = true;
  if (!overflowed_) write(std::string(count, flags_.zero ? '0' : ' '));
}

void Printer::pad(std::string_view text) {
  const std::size_t width = static_cast<std::size_t>(flags_.width.value_or(0));
  const std::size_t length = width == 0 ? 0 : count_characters(text);
  const std::size_t missing = width > length ? width - length : 0;
  if (!flags_.minus) padding(missing);
  write(text);
  if (flags_.minus) padding(missing);
}

void Printer::pad_with_blanks(std::string_view text) {
  const bool zero = std::exchange(flags_.zero, false);
  pad(text);
  flags_.zero = zero;
}

void Printer::bad_verb(const Value& value, char32_t verb) {
  erroring_ = true;
  write("%!");
  this->verb(verb);
  write('(');
  if (value.is_invalid()) {
    write(nil_angle);
  } else {
    write(type_name(value));
    write('=');
    argument(value, 'v');
  }
  write(')');
  erroring_ = false;
}

void Printer::boolean(const Value& value, char32_t verb) {
  if (verb != 't' && verb != 'v') return bad_verb(value, verb);
  pad(value.as_boolean() ? "true" : "false");
}

void Printer::integer(const Value& value, char32_t verb) {
  const bool is_signed = value.kind() == Kind::integer;
  const auto number
      = is_signed ? static_cast<std::uint64_t>(value.as_integer()) : value.as_natural();
  switch (verb) {
    case 'v':
      if (flags_.sharp_v && !is_signed) {
        const bool sharp = std::exchange(flags_.sharp, true);
        digits(number, 16, false, 'v', false);
        flags_.sharp = sharp;
        return;
      }
      [[fallthrough]];
    case 'd':
      return digits(number, 10, is_signed, verb, false);
    case 'b':
      return digits(number, 2, is_signed, verb, false);
    case 'o':
    case 'O':
      return digits(number, 8, is_signed, verb, false);
    case 'x':
      return digits(number, 16, is_signed, verb, false);
    case 'X':
      return digits(number, 16, is_signed, verb, true);
    case 'c':
      return character(number, false);
    case 'q':
      return character(number, true);
    case 'U':
      return unicode(number);
    default:
      return bad_verb(value, verb);
  }
}

void Printer::digits(
    std::uint64_t value, unsigned base, bool is_signed, char32_t verb, bool upper) {
  const bool negative = is_signed && static_cast<std::int64_t>(value) < 0;
  if (negative) value = 0 - value;
  std::size_t least = 0;
  if (flags_.precision) {
    least = static_cast<std::size_t>(*flags_.precision);
    if (least == 0 && value == 0) return pad_with_blanks("");
  } else if (flags_.zero && flags_.width) {
    least = static_cast<std::size_t>(*flags_.width);
    if (least > 0 && (negative || flags_.plus || flags_.space)) --least;
  }
  const std::string_view names = upper ? upper_digits : lower_digits;
  std::string text;
  do {
    text += names[value % base];
    value /= base;
  } while (value != 0);
  if (least > text.size()) text.append(least - text.size(), '0');
  if (flags_.sharp) {
    if (base == 2) text += "b0";
    if (base == 8 && text.back() != '0') text += '0';
    if (base == 16) (text += names[16]) += '0';
  }
  if (verb == 'O') text += "o0";
  if (negative)
    text += '-';
  else if (flags_.plus)
    text += '+';
  else if (flags_.space)
    text += ' ';
  std::ranges::reverse(text);
  pad_with_blanks(text);
}

void Printer::unicode(std::uint64_t value) {
  std::string text;
  const std::size_t least
      = std::max<std::size_t>(4, static_cast<std::size_t>(flags_.precision.value_or(0)));
  std::uint64_t rest = value;
  do {
    text += upper_digits[rest % 16];
    rest /= 16;
  } while (rest != 0);
  if (least > text.size()) text.append(least - text.size(), '0');
  std::ranges::reverse(text);
  text = "U+" + text;
  if (flags_.sharp && value <= 0x10FFFF && is_printable(static_cast<char32_t>(value))) {
    text += " '";
    append_utf8(text, static_cast<char32_t>(value));
    text += '\'';
  }
  pad_with_blanks(text);
}

void Printer::character(std::uint64_t value, bool is_quoted) {
  const bool fits = value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
  const auto c = fits ? static_cast<char32_t>(value) : U'\uFFFD';
  std::string text;
  append_utf8(text, c);
  if (!is_quoted) return pad(text);
  if (c == '\'') return pad("'\\''");
  if (c == '"') return pad("'\"'");
  std::string literal = flags_.plus ? quote_ascii(text) : quote(text);
  literal.front() = literal.back() = '\'';
  pad(literal);
}

void Printer::number(const Value& value, char32_t verb) {
  const double number = value.as_number();
  switch (verb) {
    case 'v':
      return number_as(number, 'g', -1);
    case 'b':
    case 'g':
    case 'G':
    case 'x':
    case 'X':
      return number_as(number, static_cast<char>(verb), -1);
    case 'f':
    case 'e':
    case 'E':
      return number_as(number, static_cast<char>(verb), 6);
    case 'F':
      return number_as(number, 'f', 6);
    default:
      return bad_verb(value, verb);
  }
}

void Printer::number_as(double value, char format, int precision) {
  if (flags_.precision) precision = *flags_.precision;
  std::string text = format_number(value, format, precision);
  if (text[0] != '-' && text[0] != '+') text.insert(0, "+");
  if (flags_.space && text[0] == '+' && !flags_.plus) text[0] = ' ';
  if (text[1] == 'I' || text[1] == 'N') {
    if (text[1] == 'N' && !flags_.space && !flags_.plus) text.erase(0, 1);
    pad_with_blanks(text);
    return;
  }
  if (flags_.sharp && format != 'b') text = with_point(std::move(text), format, precision);
  if (!flags_.plus && text[0] == '+') return pad(std::string_view{text}.substr(1));
  const auto width = static_cast<std::size_t>(flags_.width.value_or(0));
  if (!flags_.zero || width <= text.size()) return pad(text);
  write(text[0]);
  padding(width - text.size());
  write(std::string_view{text}.substr(1));
}

void Printer::text(std::string_view content, const Value& value, char32_t verb) {
  std::string_view cut = content;
  if (flags_.precision) {
    std::size_t at = 0;
    for (int left = *flags_.precision; left > 0 && at < content.size(); --left)
      at += decode_utf8(content, at).length;
    cut = content.substr(0, at);
  }
  switch (verb) {
    case 'v':
      return flags_.sharp_v ? quoted(cut) : pad(cut);
    case 's':
      return pad(cut);
    case 'x':
    case 'X':
      return hex_bytes(content, verb == 'X');
    case 'q':
      return quoted(cut);
    default:
      return bad_verb(value, verb);
  }
}

void Printer::quoted(std::string_view content) {
  const auto spoils = [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == '`' || c == '\x7F';
  };
  if (flags_.sharp && !std::ranges::any_of(content, spoils) && is_valid_utf8(content)
      && content.find("\xEF\xBB\xBF") == std::string_view::npos)
    return pad('`' + std::string{content} + '`');
  pad(flags_.plus ? quote_ascii(content) : quote(content));
}

void Printer::hex_bytes(std::string_view content, bool upper) {
  if (flags_.precision) content = content.substr(0, static_cast<std::size_t>(*flags_.precision));
  const std::string_view names = upper ? upper_digits : lower_digits;
  const auto width = static_cast<std::size_t>(flags_.width.value_or(0));
  if (content.empty()) return padding(width);
  std::string text;
  for (std::size_t i = 0; i < content.size(); ++i) {
    if (i > 0 && flags_.space) text += ' ';
    if (flags_.sharp && (i == 0 || flags_.space)) (text += '0') += names[16];
    const auto byte = static_cast<unsigned char>(content[i]);
    text += names[byte >> 4U];
    text += names[byte & 0xFU];
  }
  const std::size_t missing = width > text.size() ? width - text.size() : 0;
  if (!flags_.minus) padding(missing);
  write(text);
  if (flags_.minus) padding(missing);
}

bool Printer::shows_itself(const Value& value, char32_t verb) {
  if (erroring_ || flags_.sharp_v || value.is_nil() || value.type()->show == nullptr) return false;
  if (verb != 'v' && verb != 's' && verb != 'x' && verb != 'X' && verb != 'q') return false;
  text(value.type()->show(value), value, verb);
  return true;
}

void Printer::argument(const Value& value, char32_t verb) {
  if (value.is_invalid()) {
    if (verb == 'T' || verb == 'v') return pad(nil_angle);
    return bad_verb(value, verb);
  }
  if (verb == 'T') return pad(type_name(value));
  if (verb == 'p') return pointer(value, 'p');
  content(value, verb, 0);
}

void Printer::content(const Value& value, char32_t verb, int depth) {
  if (depth > max_depth) overflowed_ = true;
  if (overflowed_) return;
  if (shows_itself(value, verb)) return;
  switch (value.kind()) {
    case Kind::any:
      if (flags_.sharp_v)
        write("interface {}(nil)");
      else if (verb == 'v' || depth > 0)
        write(nil_angle);
      else
        bad_verb(value, verb);
      return;
    case Kind::boolean:
      return boolean(value, verb);
    case Kind::integer:
    case Kind::natural:
      return integer(value, verb);
    case Kind::number:
      return number(value, verb);
    case Kind::text:
      return text(value.as_text(), value, verb);
    case Kind::list:
      return list(value, verb, depth);
    case Kind::map:
      return map(value, verb, depth);
    case Kind::structure:
      return structure(value, verb, depth);
    case Kind::function:
      return pointer(value, verb);
  }
}

void Printer::list(const Value& value, char32_t verb, int depth) {
  if (value.type() == &types::int64_channel) return pointer(value, verb);
  if (value.type()->element == &types::byte
      && (verb == 's' || verb == 'q' || verb == 'x' || verb == 'X'))
    return text(bytes_of(value), value, verb);
  if (flags_.sharp_v) {
    write(type_name(value));
    if (value.is_nil()) return write("(nil)");
  }
  write(flags_.sharp_v ? '{' : '[');
  bool first = true;
  for (const Value& item : value.items()) {
    if (!std::exchange(first, false)) write(flags_.sharp_v ? ", " : " ");
    content(item, verb, depth + 1);
  }
  write(flags_.sharp_v ? '}' : ']');
}

void Printer::map(const Value& value, char32_t verb, int depth) {
  if (value.type()->is_pointer && (value.is_nil() || depth > 0)) return pointer(value, verb);
  if (value.type()->is_pointer && !bare_) write('&');
  if (flags_.sharp_v) {
    write(type_name(value));
    if (value.is_nil()) return write("(nil)");
    write('{');
  } else {
    write("map[");
  }
  bool first = true;
  for (const auto& [key, held] : value.entries()) {
    if (!std::exchange(first, false)) write(flags_.sharp_v ? ", " : " ");
    content(key, verb, depth + 1);
    write(':');
    content(held, verb, depth + 1);
  }
  write(flags_.sharp_v ? '}' : ']');
}

void Printer::structure(const Value& value, char32_t verb, int depth) {
  if (value.type()->is_pointer && (value.is_nil() || depth > 0)) return pointer(value, verb);
  if (value.type()->is_pointer && !bare_) write('&');
  if (flags_.sharp_v) {
    std::string_view name = type_name(value);
    if (value.type()->is_pointer) name.remove_prefix(1);
    write(name);
  }
  write('{');
  for (std::size_t i = 0; i < value.type()->fields.size(); ++i) {
    if (i > 0) write(flags_.sharp_v ? ", " : " ");
    if (flags_.plus_v || flags_.sharp_v) {
      write(value.type()->fields[i].name);
      write(':');
    }
    content(value.fields()[i], verb, depth + 1);
  }
  write('}');
}

void Printer::pointer(const Value& value, char32_t verb) {
  const bool is_pointer = value.kind() == Kind::function || value.kind() == Kind::list
                          || value.kind() == Kind::map
                          || (value.kind() == Kind::structure && value.type()->is_pointer);
  if (!is_pointer) return bad_verb(value, verb);
  if (verb == 'v' && value.is_nil()) return pad(nil_angle);
  const std::uint64_t address = value.is_nil() ? 0 : some_address;
  if (verb == 'v' || verb == 'p') {
    const bool sharp = std::exchange(flags_.sharp, !flags_.sharp);
    digits(address, 16, false, 'v', false);
    flags_.sharp = sharp;
    return;
  }
  if (verb == 'b' || verb == 'o' || verb == 'd' || verb == 'x' || verb == 'X')
    return integer(Value::natural(address), verb);
  bad_verb(value, verb);
}

}  // namespace nomad::templates
