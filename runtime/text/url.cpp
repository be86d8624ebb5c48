#include "runtime/text/url.hpp"

#include <algorithm>
#include <vector>

#include "runtime/base/text.hpp"

namespace nomad {
namespace {

Error malformed(std::string_view text, std::string_view why) {
  return {Errc::invalid_argument, "parse \"" + redact_url(text) + "\": " + std::string{why}};
}

bool has_control(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7F;
  });
}

bool has_bad_escape(std::string_view text) {
  for (std::size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1))
    if (at + 2 >= text.size() || !is_hex_digit(text[at + 1]) || !is_hex_digit(text[at + 2]))
      return true;
  return false;
}

/// The length of a scheme that the text begins with; 0 without one.
std::size_t scheme_length(std::string_view text) {
  if (text.empty() || !is_letter(text.front())) return 0;
  for (std::size_t at = 1; at < text.size(); ++at) {
    const char c = text[at];
    if (c == ':') return at;
    if (!is_alphanumeric(c) && c != '+' && c != '-' && c != '.') return 0;
  }
  return 0;
}

bool is_secret(std::string_view name) {
  const auto lower = to_lower(name);
  for (const std::string_view part :
       {"secret", "token", "password", "passwd", "sshkey", "signature", "credential", "apikey",
        "api_key", "access_key", "private"})
    if (lower.find(part) != lower.npos) return true;
  return lower == "sig" || lower == "key" || lower == "auth";
}

/// The query as it stands, with the values of secrets masked.
std::string redact_query(std::string_view query) {
  std::string out;
  bool first = true;
  for (const auto part : split(query, '&')) {
    if (!std::exchange(first, false)) out += '&';
    const auto equals = part.find('=');
    if (equals == part.npos || !is_secret(percent_decode(part.substr(0, equals))))
      out += part;
    else
      (out += part.substr(0, equals + 1)) += secret_mask;
  }
  return out;
}

std::string redact_userinfo(std::string_view userinfo) {
  const auto colon = userinfo.find(':');
  if (colon == userinfo.npos) return std::string{userinfo};
  return std::string{userinfo.substr(0, colon + 1)} + std::string{secret_mask};
}

Result<> take_authority(std::string_view authority, std::string_view whole, Url& into) {
  if (const auto at = authority.rfind('@'); at != authority.npos) {
    into.userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
  }
  if (authority.find_first_of(" \"<>\\^`{|}") != authority.npos)
    return malformed(whole, "invalid character in host name");
  into.host = to_lower(authority);
  const auto bracket = into.host.rfind(']');
  const auto colon = into.host.find(':', bracket == into.host.npos ? 0 : bracket);
  if (colon != into.host.npos) {
    const auto port = std::string_view{into.host}.substr(colon + 1);
    if (!std::ranges::all_of(port, [](char c) { return is_digit(c); }) || port.size() > 5
        || leading_number(port) > 65535)
      return malformed(whole, "invalid port \":" + std::string{port} + "\" after host");
  }
  if (into.host.starts_with('[') && bracket == into.host.npos)
    return malformed(whole, "missing ']' in host");
  return {};
}

/// Without "." and what ".." leads back from (RFC 3986, section 5.2.4).
std::string without_dots(std::string_view path) {
  std::vector<std::string_view> kept;
  const auto parts = split(path, '/');
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const bool is_last = i + 1 == parts.size();
    if (parts[i] == "..") {
      if (!kept.empty()) kept.pop_back();
      if (is_last) kept.emplace_back();
    } else if (parts[i] != ".") {
      kept.push_back(parts[i]);
    } else if (is_last) {
      kept.emplace_back();
    }
  }
  return "/" + join(kept, "/");
}

std::string query_unescape(std::string_view text) {
  std::string out{text};
  std::ranges::replace(out, '+', ' ');
  return percent_decode(out);
}

}  // namespace

std::string Url::text() const {
  std::string out;
  if (!scheme.empty()) out += scheme + ":";
  if (!host.empty() || !scheme.empty()) out += "//";
  if (!userinfo.empty()) out += userinfo + "@";
  out += host + path;
  if (!query.empty()) out += "?" + query;
  if (!fragment.empty()) out += "#" + fragment;
  return out;
}

std::string Url::shown() const {
  Url safe = *this;
  safe.userinfo = redact_userinfo(userinfo);
  safe.query = redact_query(query);
  return safe.text();
}

std::string Url::base_name() const {
  auto decoded = percent_decode(path);
  while (decoded.size() > 1 && decoded.ends_with('/'))
    decoded.pop_back();
  if (decoded.empty()) return ".";
  if (decoded == "/") return decoded;
  return decoded.substr(decoded.rfind('/') + 1);
}

std::string Url::user() const {
  return percent_decode(std::string_view{userinfo}.substr(0, userinfo.find(':')));
}

std::string Url::password() const {
  const auto colon = userinfo.find(':');
  return colon == userinfo.npos ? "" : percent_decode(std::string_view{userinfo}.substr(colon + 1));
}

std::string Url::port() const {
  const auto bracket = host.rfind(']');
  const auto colon = host.find(':', bracket == host.npos ? 0 : bracket);
  if (colon != host.npos && colon + 1 < host.size()) return host.substr(colon + 1);
  return scheme == "https"  ? "443"
         : scheme == "http" ? "80"
         : scheme == "ssh"  ? "22"
         : scheme == "git"  ? "9418"
                            : "";
}

std::string Url::host_name() const {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

bool same_origin(const Url& a, const Url& b) {
  return a.scheme == b.scheme && a.host_name() == b.host_name() && a.port() == b.port();
}

Result<Url> parse_url(std::string_view text) {
  if (has_control(text)) return malformed("", "invalid control character in URL");
  Url url;
  auto rest = text;
  if (const auto hash = rest.find('#'); hash != rest.npos) {
    url.fragment = rest.substr(hash + 1);
    rest = rest.substr(0, hash);
  }
  if (const auto mark = rest.find('?'); mark != rest.npos) {
    url.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (rest.starts_with(':')) return malformed(text, "missing protocol scheme");
  if (const auto length = scheme_length(rest); length > 0) {
    url.scheme = to_lower(rest.substr(0, length));
    rest.remove_prefix(length + 1);
  }
  if (rest.starts_with("//") && !rest.starts_with("///")) {
    rest.remove_prefix(2);
    const auto slash = rest.find('/');
    NOMAD_TRY(take_authority(rest.substr(0, slash), text, url));
    rest = slash == rest.npos ? std::string_view{} : rest.substr(slash);
  } else if (rest.starts_with("///")) {
    rest.remove_prefix(2);
  } else if (url.scheme.empty()) {
    const auto colon = rest.find(':');
    if (colon != rest.npos && colon < rest.find('/'))
      return malformed(text, "first path segment in URL cannot contain colon");
  }
  if (has_bad_escape(rest)) return malformed(text, "invalid URL escape");
  url.path = rest;
  return url;
}

Result<Url> resolve_url(const Url& base, std::string_view reference) {
  if (reference.starts_with("//")) return parse_url(base.scheme + ":" + std::string{reference});
  if (scheme_length(reference) > 0) return parse_url(reference);
  // A path may hold a colon here.
  const auto end = reference.find_first_of("?#");
  const auto path = reference.substr(0, end);
  auto url
      = NOMAD_TRY(parse_url(end == reference.npos ? std::string_view{} : reference.substr(end)));
  if (has_control(path) || has_bad_escape(path))
    return malformed(reference, "invalid character in path");
  url.scheme = base.scheme;
  url.host = base.host;
  url.userinfo = base.userinfo;
  if (path.starts_with('/')) {
    url.path = without_dots(path);
  } else if (!path.empty()) {
    url.path = without_dots(base.path.substr(0, base.path.rfind('/') + 1) + std::string{path});
  } else {
    url.path = base.path;
    if (url.query.empty()) url.query = base.query;
  }
  return url;
}

std::string redact_url(std::string_view source) {
  std::string out;
  auto rest = source;
  if (const auto mark = source.find('?'); mark != source.npos) {
    rest = source.substr(0, mark);
    const auto hash = source.find('#', mark);
    out = "?" + redact_query(source.substr(mark + 1, hash == source.npos ? hash : hash - mark - 1));
  }
  const auto slashes = rest.find("://");
  const auto begin = slashes == rest.npos ? 0 : slashes + 3;
  const auto authority = rest.substr(begin, rest.find('/', begin) - begin);
  const auto at = authority.rfind('@');
  if (slashes == rest.npos || at == authority.npos) return std::string{rest} + out;
  return std::string{rest.substr(0, begin)} + redact_userinfo(authority.substr(0, at))
         + std::string{rest.substr(begin + at)} + out;
}

std::string percent_decode(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '%' && at + 2 < text.size() && is_hex_digit(text[at + 1])
        && is_hex_digit(text[at + 2])) {
      out += static_cast<char>(hex_value(text[at + 1]) * 16 + hex_value(text[at + 2]));
      at += 2;
    } else {
      out += text[at];
    }
  }
  return out;
}

// -- UrlQuery
// -----------------------------------------------------------------------------------------

UrlQuery UrlQuery::parse(std::string_view query) {
  UrlQuery parsed;
  if (query.empty()) return parsed;
  for (const auto part : split(query, '&')) {
    if (part.empty()) continue;
    const auto equals = part.find('=');
    const auto value = equals == part.npos ? std::string_view{} : part.substr(equals + 1);
    parsed.values_.emplace(query_unescape(part.substr(0, equals)), query_unescape(value));
  }
  return parsed;
}

std::string_view UrlQuery::get(std::string_view name) const {
  const auto found = values_.lower_bound(name);
  return found == values_.end() || found->first != name ? std::string_view{} : found->second;
}

void UrlQuery::set(std::string_view name, std::string_view value) {
  take(name);
  values_.emplace(name, value);
}

std::string UrlQuery::take(std::string_view name) {
  std::string value{get(name)};
  const auto [first, last] = values_.equal_range(name);
  values_.erase(first, last);
  return value;
}

std::string UrlQuery::encode() const {
  std::string out;
  for (const auto& [name, value] : values_) {
    if (!out.empty()) out += '&';
    out += query_encode(name) + '=' + query_encode(value);
  }
  return out;
}

}  // namespace nomad
