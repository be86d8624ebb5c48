#include "cli/operator/curl_command.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/net/byte_stream.hpp"
#include "runtime/text/shell_word.hpp"

namespace nomad::cli {
namespace {

bool has_header(const std::vector<std::string>& headers, std::string_view name) {
  return std::ranges::any_of(headers, [name](const std::string& header) {
    return to_lower(trim(header.substr(0, header.find(':')))) == to_lower(name);
  });
}

/// A host as it stands in an address.
std::string in_address(const std::string& host) {
  return host.find(':') == std::string::npos ? host : '[' + host + ']';
}

void add_tls(std::vector<std::string>& parts, const CommonFlags& flags) {
  const auto add = [&parts](std::string_view option, const std::string& value) {
    if (!value.empty()) parts.push_back(fmt::format("{} {}", option, shell_word(value)));
  };
  add("--cacert", flags.ca_cert);
  add("--capath", flags.ca_path);
  add("--cert", flags.client_cert);
  add("--key", flags.client_key);
  if (flags.tls_skip_verify) parts.emplace_back("--insecure");
}

/// The address without a path. curl takes the name that a certificate must have from it, so another
/// name stands there, and an option says where it is.
std::string address_of(std::vector<std::string>& parts,
                       const CommonFlags& flags,
                       const net::Endpoint& endpoint) {
  if (endpoint.scheme == "unix") {
    parts.push_back("--unix-socket " + shell_word(endpoint.host));
    return "http://localhost";
  }
  auto host = in_address(endpoint.host);
  if (!flags.tls_server_name.empty() && endpoint.scheme == "https") {
    const auto& name = flags.tls_server_name;
    parts.push_back(
        "--connect-to "
        + shell_word(fmt::format("{}:{}:{}:{}", name, endpoint.port, host, endpoint.port)));
    host = name;
  }
  return fmt::format("{}://{}:{}", endpoint.scheme, host, endpoint.port);
}

}  // namespace

Result<std::string> curl_command(const CommonFlags& flags, const CurlRequest& request) {
  const auto endpoint = NOMAD_TRY(
      net::Endpoint::parse(flags.address.empty() ? net::HttpClientOptions{}.address
                                                 : net::split_addresses(flags.address).front()));
  std::vector<std::string> parts{"curl"};
  if (request.verbose) parts.emplace_back("--verbose");
  parts.push_back("-X " + shell_word(request.method));
  if (request.has_body) parts.emplace_back("--data-binary @-");
  add_tls(parts, flags);
  const auto address = address_of(parts, flags, endpoint);
  for (const auto& header : request.headers)
    parts.push_back("-H " + shell_word(header));
  if (!flags.token.empty() && !has_header(request.headers, "X-Nomad-Token"))
    parts.push_back(request.is_token_typed ? "-H " + shell_word("X-Nomad-Token: " + flags.token)
                                           : "-H \"X-Nomad-Token: ${NOMAD_TOKEN}\"");
  parts.push_back(shell_word(address + endpoint.base_path + request.target));
  return join(parts, " \\\n  ");
}

}  // namespace nomad::cli
