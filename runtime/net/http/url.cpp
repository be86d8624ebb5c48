#include "runtime/net/http/url.hpp"

#include <algorithm>

#include "runtime/base/text.hpp"

namespace nomad::net {

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  return out;
}

void parse_query(std::string_view query, QueryParameters& out) {
  out.clear();
  while (!query.empty()) {
    const auto end = std::min(query.find('&'), query.size());
    const auto pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty() || pair.find(';') != std::string_view::npos) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    auto name = percent_decode(pair.substr(0, equals), true);
    auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (name && value) out.emplace_back(std::move(*name), std::move(*value));
  }
}

std::string clean_path(std::string_view path) {
  if (path.empty()) return "/";
  std::vector<std::string_view> parts;
  std::string_view rest = path;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('/'), rest.size());
    const auto part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (part.empty() || part == ".") continue;
    if (part != "..")
      parts.push_back(part);
    else if (!parts.empty())
      parts.pop_back();
  }
  std::string out;
  for (const auto part : parts)
    (out += '/') += part;
  if (out.empty() || path.back() == '/') out += '/';
  return out;
}

bool is_clean_path(std::string_view path) {
  if (path.empty() || path.front() != '/') return false;
  std::size_t begin = 1;
  while (begin < path.size()) {
    const auto end = std::min(path.find('/', begin), path.size());
    const auto part = path.substr(begin, end - begin);
    if (part.empty() || part == "." || part == "..") return false;
    begin = end + 1;
  }
  return true;
}

}  // namespace nomad::net
