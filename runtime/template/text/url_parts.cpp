#include "runtime/template/text/url_parts.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/base/text.hpp"
#include "runtime/template/eval/context.hpp"

namespace nomad::templates {
namespace {

/// Where a character stands decides whether it may stand there as it is.
enum class Part : std::uint8_t { user, host, zone, path, fragment };

/// What may, besides what always may.
constexpr std::string_view kept_in(Part part) {
  switch (part) {
    case Part::host:
    case Part::zone:
      return "!$&'()*+,;=:[]<>\"";
    case Part::path:
      return "$&+,/:;=@";
    case Part::user:
      return "$&+,;=";
    case Part::fragment:
      return "$&+,/:;=?@!()*";
  }
  return {};
}

std::string escaped(std::string_view text, Part part) {
  return percent_encode(text, kept_in(part));
}

bool needs_escape(char c, Part part) {
  return escaped({&c, 1}, part).size() > 1;
}

Error bad_escape(std::string_view escape) {
  return function_error("invalid URL escape " + quote(escape.substr(0, 3)));
}

Result<std::string> unescaped(std::string_view text, Part part) {
  const bool is_host = part == Part::host || part == Part::zone;
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c != '%') {
      if (is_host && static_cast<unsigned char>(c) < 0x80 && needs_escape(c, part))
        return function_error("invalid character " + quote({&c, 1}) + " in host name");
      out += c;
      continue;
    }
    const std::string_view escape = text.substr(at, 3);
    if (escape.size() < 3 || !is_hex_digit(escape[1]) || !is_hex_digit(escape[2]))
      return bad_escape(escape);
    const auto byte = static_cast<char>(hex_value(escape[1]) * 16 + hex_value(escape[2]));
    if (part == Part::host && static_cast<unsigned char>(byte) < 0x80 && escape != "%25")
      return bad_escape(escape);
    if (part == Part::zone && escape != "%25" && byte != ' ' && needs_escape(byte, Part::host))
      return bad_escape(escape);
    out += byte;
    at += 2;
  }
  return out;
}

/// Takes a scheme with its colon off an address.
Result<std::string> take_scheme(std::string_view& rest) {
  for (std::size_t at = 0; at < rest.size(); ++at) {
    const char c = rest[at];
    if (is_letter(c) || (at > 0 && (is_digit(c) || c == '+' || c == '-' || c == '.'))) continue;
    if (c != ':') break;
    if (at == 0) return function_error("missing protocol scheme");
    const std::string scheme = to_lower(rest.substr(0, at));
    rest.remove_prefix(at + 1);
    return scheme;
  }
  return std::string{};
}

bool is_port(std::string_view text) {
  return text.empty() || (text.front() == ':' && (text.size() == 1 || is_digits(text.substr(1))));
}

Result<std::string> host_of(std::string_view host) {
  const auto check_port = [](std::string_view port) -> Result<void> {
    if (is_port(port)) return {};
    return function_error("invalid port " + quote(port) + " after host");
  };
  if (host.starts_with('[')) {
    const std::size_t close = host.rfind(']');
    if (close == std::string_view::npos) return function_error("missing ']' in host");
    NOMAD_TRY(check_port(host.substr(close + 1)));
    if (const std::size_t zone = host.substr(0, close).find("%25"); zone != std::string_view::npos)
      return NOMAD_TRY(unescaped(host.substr(0, zone), Part::host))
             + NOMAD_TRY(unescaped(host.substr(zone, close - zone), Part::zone))
             + NOMAD_TRY(unescaped(host.substr(close), Part::host));
  } else if (const std::size_t colon = host.rfind(':'); colon != std::string_view::npos) {
    NOMAD_TRY(check_port(host.substr(colon)));
  }
  return unescaped(host, Part::host);
}

/// "user:password", decoded and written anew.
Result<std::string> userinfo_of(std::string_view text) {
  const bool is_valid = std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c)
           || std::string_view{"-._:~!$&'()*+,;=%@"}.find(c) != std::string::npos;
  });
  if (!is_valid) return function_error("net/url: invalid userinfo");
  const std::size_t colon = text.find(':');
  std::string out = escaped(NOMAD_TRY(unescaped(text.substr(0, colon), Part::user)), Part::user);
  if (colon == std::string_view::npos) return out;
  const std::string password = NOMAD_TRY(unescaped(text.substr(colon + 1), Part::user));
  return out + ':' + escaped(password, Part::user);
}

Result<void> take_authority(std::string_view& rest, UrlParts& into) {
  const std::string_view authority = rest.substr(0, rest.find('/'));
  rest.remove_prefix(authority.size());
  const std::size_t at = authority.rfind('@');
  if (at == std::string_view::npos) {
    into.host = NOMAD_TRY(host_of(authority));
    return {};
  }
  into.host = NOMAD_TRY(host_of(authority.substr(at + 1)));
  into.userinfo = NOMAD_TRY(userinfo_of(authority.substr(0, at)));
  return {};
}

/// Of an address without its fragment.
Result<UrlParts> parts_of(std::string_view rest) {
  for (const char c : rest)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      return function_error("net/url: invalid control character in URL");
  UrlParts parts;
  parts.scheme = NOMAD_TRY(take_scheme(rest));
  if (const std::size_t mark = rest.find('?'); mark != std::string_view::npos) {
    parts.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (!rest.starts_with('/')) {
    if (!parts.scheme.empty()) {
      parts.opaque = rest;
      return parts;
    }
    if (rest.substr(0, rest.find('/')).find(':') != std::string_view::npos)
      return function_error("first path segment in URL cannot contain colon");
  }
  if (rest.starts_with("//") && (!parts.scheme.empty() || !rest.starts_with("///"))) {
    rest.remove_prefix(2);
    NOMAD_TRY(take_authority(rest, parts));
  }
  parts.path = NOMAD_TRY(unescaped(rest, Part::path));
  return parts;
}

Error parse_fault(std::string_view text, const Error& error) {
  return function_error("parse " + quote(text) + ": " + error.what);
}

}  // namespace

Result<UrlParts> UrlParts::parse(std::string_view text) {
  const std::size_t hash = text.find('#');
  const std::string_view address = text.substr(0, hash);
  auto parts = parts_of(address);
  if (!parts) return parse_fault(address, parts.error());
  if (hash != std::string_view::npos) {
    auto fragment = unescaped(text.substr(hash + 1), Part::fragment);
    if (!fragment) return parse_fault(text, fragment.error());
    parts->fragment = std::move(fragment).take();
  }
  return parts;
}

std::string UrlParts::host_name() const {
  std::string_view name = host;
  if (const std::size_t colon = name.rfind(':'); colon != name.npos && is_port(name.substr(colon)))
    name = name.substr(0, colon);
  if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
  return std::string{name};
}

std::string UrlParts::text() const {
  std::string out;
  if (!scheme.empty()) out += scheme + ':';
  if (!opaque.empty()) {
    out += opaque;
  } else {
    const bool has_user = !userinfo.empty();
    if (!host.empty() || has_user || (!scheme.empty() && !path.empty())) out += "//";
    if (has_user) out += userinfo + '@';
    out += escaped(host, Part::host);
    const std::string shown = path == "*" ? path : escaped(path, Part::path);
    if (!shown.empty() && shown.front() != '/' && !host.empty()) out += '/';
    // "a:b" would be a scheme.
    if (out.empty() && shown.substr(0, shown.find('/')).find(':') != std::string::npos) out = "./";
    out += shown;
  }
  if (!query.empty()) out += '?' + query;
  if (!fragment.empty()) out += '#' + escaped(fragment, Part::fragment);
  return out;
}

}  // namespace nomad::templates
