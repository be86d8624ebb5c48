#include "runtime/net/http/client/request_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/net/socket.hpp"
#include "runtime/text/url.hpp"

namespace nomad::net {
namespace {

/// What other hosts may not see that a redirect leads to.
constexpr std::array<std::string_view, 4> credentials
    = {"Authorization", "Www-Authenticate", "Cookie", "Cookie2"};

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alphanumeric(c) || std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string::npos;
  });
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

bool is_field_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return is_control(c) && c != '\t'; });
}

bool has_control_or_space(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return is_control(c) || c == ' '; });
}

bool is_among(std::string_view name, const Headers& headers) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const Header& each) { return same_header(each.name, name); });
}

std::string host_text(const Endpoint& to) {
  if (to.scheme == "unix") return "localhost";
  const bool is_usual = to.port == (to.scheme == "https" ? "443" : "80");
  auto text = join_host_port(to.host, to.port);
  return is_usual ? text.substr(0, text.rfind(':')) : text;
}

std::string url_text(const Endpoint& to, std::string_view target) {
  if (to.scheme == "unix") return fmt::format("http://unix{}", target);
  return fmt::format("{}://{}{}", to.scheme, join_host_port(to.host, to.port), target);
}

}  // namespace

std::string flaw_of(const HttpRequest& request) {
  if (!is_token(request.method)) return "net/http: invalid method " + quote(request.method);
  if (has_control_or_space(request.target) || !request.target.starts_with('/'))
    return "net/http: invalid path " + quote(request.target);
  if (has_control_or_space(request.to.host))
    return "net/http: invalid host " + quote(request.to.host);
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name)) return "net/http: invalid header field name " + quote(name);
    if (!is_field_value(value)) return "net/http: invalid header field value for " + quote(name);
  }
  return {};
}

std::string render(const HttpRequest& request) {
  auto text = request.method + ' ' + request.target + " HTTP/1.1\r\n";
  const auto put_if_missing = [&](std::string_view name, const std::string& value) {
    if (!is_among(name, request.headers))
      fmt::format_to(std::back_inserter(text), "{}: {}\r\n", name, value);
  };
  put_if_missing("Host", host_text(request.to));
  put_if_missing("User-Agent", "nomadctl");
  if (!request.upgrades && !request.keeps_connection) put_if_missing("Connection", "close");
  for (const auto& [name, value] : request.headers)
    text += value.empty() ? name + ":\r\n" : fmt::format("{}: {}\r\n", name, value);
  const auto& method = request.method;
  if (!request.body.empty() || method == "POST" || method == "PUT" || method == "PATCH")
    put_if_missing("Content-Length", std::to_string(request.body.size()));
  return (text += "\r\n") += request.body;
}

std::string asked_text(const HttpRequest& request) {
  auto verb = to_lower(request.method);
  if (!verb.empty()) verb[0] = to_upper(verb[0]);
  return fmt::format("{} \"{}\"", verb, url_text(request.to, request.target));
}

bool is_repeatable(const HttpRequest& request) {
  return request.method == "GET" || request.method == "HEAD" || request.method == "OPTIONS";
}

Result<std::optional<HttpRequest>> redirected(const HttpRequest& request,
                                              const ClientResponse& answer) {
  const bool keeps_method = answer.status == 307 || answer.status == 308;
  const bool leads_on = (keeps_method && request.repeats_body) || answer.status == 301
                        || answer.status == 302 || answer.status == 303;
  const auto location = answer.header("Location");
  const bool is_redirect = answer.status >= 300 && answer.status < 400;
  if (!is_redirect || location.empty() || request.to.scheme == "unix")
    return std::optional<HttpRequest>{};
  const auto here = NOMAD_TRY(parse_url(url_text(request.to, request.target)));
  const auto there = resolve_url(here, location);
  const bool leads_nowhere = there && there->scheme != "http" && there->scheme != "https";
  // Whoever answers so has nothing to answer himself, also where nobody would follow.
  if (!leads_on && !leads_nowhere) return std::optional<HttpRequest>{};
  if (!there)
    return Error{Errc::rejected, fmt::format("failed to parse Location header {}: {}",
                                             quote(location), there.error().what)};
  if (leads_nowhere)
    return Error{Errc::rejected, "unsupported protocol scheme " + quote(there->scheme)};
  if (there->host_name().empty()) return Error{Errc::rejected, "http: no Host in request URL"};
  auto next = request;
  next.to = {
      .scheme = there->scheme, .host = there->host_name(), .port = there->port(), .base_path = {}};
  const auto path = there->path.empty() ? "/" : there->path;
  next.target = percent_encode(there->query.empty() ? path : path + '?' + there->query,
                               "/?&=%+:@!$'()*,;[]");
  const auto written = parse_url(location);
  const bool is_absolute = location.starts_with("//") || (written && !written->scheme.empty());
  const bool leads_elsewhere = next.to.host != request.to.host || next.to.port != request.to.port;
  std::erase_if(next.headers, [&](const Header& each) {
    if (same_header(each.name, "Host")) return is_absolute;
    return leads_elsewhere
           && std::any_of(credentials.begin(), credentials.end(),
                          [&](std::string_view name) { return same_header(each.name, name); });
  });
  if (!keeps_method) {
    if (next.method != "HEAD") next.method = "GET";
    next.body.clear();
  }
  return std::optional{std::move(next)};
}

}  // namespace nomad::net
