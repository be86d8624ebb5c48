#include "runtime/text/strings.hpp"

#include <cstring>
#include <set>

#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

namespace nomad {

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += decode_utf8(text, at).length)
    ++count;
  return count;
}

std::size_t find_text(std::string_view text, std::string_view what, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (what.empty()) return from;
  const void* found = ::memmem(text.data() + from, text.size() - from, what.data(), what.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

std::size_t count_text(std::string_view text, std::string_view what) {
  if (what.empty()) return count_characters(text) + 1;
  std::size_t found = 0;
  for (std::size_t at = 0; (at = find_text(text, what, at)) != std::string_view::npos;
       at += what.size())
    ++found;
  return found;
}

std::vector<std::string_view> split_text(std::string_view text,
                                         std::string_view separator,
                                         std::int64_t most) {
  std::vector<std::string_view> out;
  if (most == 0) return out;
  const auto full = [&] { return most > 0 && static_cast<std::int64_t>(out.size()) + 1 >= most; };
  if (separator.empty()) {
    for (std::size_t at = 0; at < text.size(); at += out.back().size())
      out.push_back(text.substr(at, full() ? text.size() : decode_utf8(text, at).length));
    return out;
  }
  for (;;) {
    const std::size_t end = full() ? std::string_view::npos : find_text(text, separator);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + separator.size());
  }
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  if (from.empty())
    return std::string{to} + join(split_text(text, ""), to) + std::string{text.empty() ? "" : to};
  return join(split_text(text, from), to);
}

std::string_view trim_characters(std::string_view text, std::string_view characters) {
  if (characters.empty()) return text;
  // A set, for both texts may be long.
  std::set<std::string_view> wanted;
  for (std::size_t at = 0; at < characters.size();) {
    const std::size_t length = decode_utf8(characters, at).length;
    wanted.insert(characters.substr(at, length));
    at += length;
  }
  const auto is_trimmed = [&](std::size_t at, std::size_t length) {
    return wanted.contains(text.substr(at, length));
  };
  std::size_t begin = text.size();
  std::size_t end = begin;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = decode_utf8(text, at).length;
    if (!is_trimmed(at, length)) {
      begin = std::min(begin, at);
      end = at + length;
    }
    at += length;
  }
  return text.substr(begin, end - begin);
}

std::string_view trim_prefix(std::string_view text, std::string_view prefix) {
  if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  return text;
}

std::string_view trim_suffix(std::string_view text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.remove_suffix(suffix.size());
  return text;
}

std::string clean_path(std::string_view path) {
  const bool rooted = path.starts_with('/');
  std::vector<std::string_view> parts;
  for (const std::string_view part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(part);
    else if (!parts.empty() && parts.back() != "..")
      parts.pop_back();
    else if (!rooted)
      parts.push_back(part);
  }
  const std::string out = (rooted ? "/" : "") + join(parts, "/");
  return out.empty() ? "." : out;
}

std::string base_name(std::string_view path) {
  if (path.empty()) return ".";
  while (path.ends_with('/'))
    path.remove_suffix(1);
  if (path.empty()) return "/";
  return std::string{path.substr(path.rfind('/') + 1)};
}

std::string directory_name(std::string_view path) {
  return clean_path(path.substr(0, path.rfind('/') + 1));
}

}  // namespace nomad
