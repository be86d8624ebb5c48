#include "runtime/jobspec/canonical/interpolation.hpp"

#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "runtime/base/text.hpp"

namespace nomad::jobspec {

namespace {

bool is_name_character(char c) {
  return is_alphanumeric(c) || c == '_' || c == '-' || c == '.';
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

/// The character's own escape; null when it has none.
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

}  // namespace nomad::jobspec
