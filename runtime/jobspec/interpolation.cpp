#include "runtime/jobspec/interpolation.hpp"

#include <cstdint>
#include <cstdio>

#include <unicode/uchar.h>
#include <unicode/utf8.h>

namespace nomad::jobspec {

namespace {

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'
         || c == '-' || c == '.';
}

/// The end of the reference that starts at `at` ("${name}"), or 0.
std::size_t reference_end(std::string_view text, std::size_t at) {
  if (!text.substr(at).starts_with("${")) return 0;
  std::size_t end = at + 2;
  while (end < text.size() && is_name_character(text[end]))
    ++end;
  return end > at + 2 && end < text.size() && text[end] == '}' ? end + 1 : 0;
}

template <class Replace>
std::string replace_each(std::string_view text, Replace&& replace) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t end = text[at] == '$' ? reference_end(text, at) : 0; end != 0) {
      out += replace(text.substr(at + 2, end - at - 3), text.substr(at, end - at));
      at = end;
    } else {
      out += text[at++];
    }
  }
  return out;
}

void append_escape(std::string& out, const char* format, std::uint32_t number) {
  char buffer[12];
  std::snprintf(buffer, sizeof buffer, format, number);
  out += buffer;
}

/// The character's own escape; null when it has none.
const char* short_escape(std::int32_t c) {
  switch (c) {
    case '\a':
      return "\\a";
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\v':
      return "\\v";
    case '"':
      return "\\\"";
    case '\\':
      return "\\\\";
    default:
      return nullptr;
  }
}

}  // namespace

std::string interpolate_service_name(std::string_view name,
                                     std::string_view job,
                                     std::string_view group,
                                     std::string_view task) {
  return replace_each(name, [&](std::string_view reference, std::string_view whole) -> std::string {
    if (reference == "JOB") return std::string{job};
    if (reference == "TASKGROUP") return std::string{group};
    if (reference == "TASK") return std::string{task};
    if (reference == "BASE")
      return std::string{job} + "-" + std::string{group} + "-" + std::string{task};
    return std::string{whole};
  });
}

std::string replace_references(std::string_view text, std::string_view replacement) {
  return replace_each(text, [&](std::string_view, std::string_view) { return replacement; });
}

bool has_reference(std::string_view text) {
  for (std::size_t at = text.find('$'); at != std::string_view::npos; at = text.find('$', at + 1))
    if (reference_end(text, at) != 0) return true;
  return false;
}

std::string quote(std::string_view text, bool ascii) {
  std::string out = "\"";
  const auto size = static_cast<std::int32_t>(text.size());
  for (std::int32_t at = 0; at < size;) {
    const std::int32_t start = at;
    std::int32_t c = 0;
    U8_NEXT(text.data(), at, size, c);
    if (c < 0) {
      at = start + 1;
      append_escape(out, "\\x%02x", static_cast<unsigned char>(text[start]));
    } else if (const char* escape = short_escape(c)) {
      out += escape;
    } else if (c < ' ' || c == 0x7f) {
      append_escape(out, "\\x%02x", static_cast<std::uint32_t>(c));
    } else if (c < 0x7f || (!ascii && u_isgraph(c))) {
      out += text.substr(start, at - start);
    } else {
      append_escape(out, c > 0xffff ? "\\U%08x" : "\\u%04x", static_cast<std::uint32_t>(c));
    }
  }
  return out + "\"";
}

}  // namespace nomad::jobspec
