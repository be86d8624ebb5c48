#include "cli/api.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/context/contexts.hpp"
#include "cli/output/layout.hpp"
#include "cli/programs.hpp"
#include "runtime/base/text.hpp"
#include "runtime/net/http/error_status.hpp"
#include "runtime/net/tls/tls_context.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::cli {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr std::string_view page_instead
    = "a page for browsers, and not of Nomad's API: look at NOMAD_ADDR and -address";

/// Whether a web server has answered that knows nothing of the API.
bool is_page(const net::ClientResponse& response) {
  return response.header("Content-Type").starts_with("text/html");
}

/// Who was not answered was refused by no agent: no other token helps against a certificate.
Error unanswered(Error error) {
  if (error.code == Errc::permission_denied) error.code = Errc::unavailable;
  return error;
}

/// What a web server answers without knowing the API is no success, whatever it is an answer to.
Result<net::ClientResponse> of_agent(Result<net::ClientResponse> response) {
  if (!response) return unanswered(response.error());
  if (response->status / 100 != 2 || !is_page(*response)) return response;
  return Error{Errc::corrupt, fmt::format("the answer is {}", page_instead)};
}

}  // namespace

void CommonFlags::add_to(Arguments& arguments) {
  address = environment("NOMAD_ADDR");
  if (address.empty()) address = environment("NOMAD_UNIX_ADDR");
  region = environment("NOMAD_REGION");
  ns = environment("NOMAD_NAMESPACE");
  token = environment("NOMAD_TOKEN");
  no_color = !environment("NOMAD_CLI_NO_COLOR").empty();
  force_color = !environment("NOMAD_CLI_FORCE_COLOR").empty();
  arguments.option("address", address,
                   "The agent's address, or several, separated by commas, of which the first one "
                   "that can be reached is asked; also NOMAD_ADDR, and of tasks NOMAD_UNIX_ADDR.");
  arguments.option("region", region, "The region to ask; also NOMAD_REGION.");
  arguments.option("namespace", ns, "The namespace; also NOMAD_NAMESPACE.");
  arguments.option("token", token, "The secret of an ACL token; also NOMAD_TOKEN.");
  ca_cert = environment("NOMAD_CACERT");
  ca_path = environment("NOMAD_CAPATH");
  client_cert = environment("NOMAD_CLIENT_CERT");
  client_key = environment("NOMAD_CLIENT_KEY");
  tls_server_name = environment("NOMAD_TLS_SERVER_NAME");
  const auto skip = parse_bool(environment("NOMAD_SKIP_VERIFY"));
  tls_skip_verify = skip && *skip;
  arguments.option("ca-cert", ca_cert, "The CA's certificate, a PEM file; also NOMAD_CACERT.");
  arguments.option("ca-path", ca_path, "A folder of such files; also NOMAD_CAPATH.");
  arguments.option("client-cert", client_cert,
                   "A certificate to show, a PEM file; also NOMAD_CLIENT_CERT.");
  arguments.option("client-key", client_key, "Its key; also NOMAD_CLIENT_KEY.");
  arguments.option("tls-server-name", tls_server_name,
                   "The name in the agent's certificate; also NOMAD_TLS_SERVER_NAME.");
  arguments.flag("tls-skip-verify", tls_skip_verify,
                 "Believes any certificate; also NOMAD_SKIP_VERIFY.");
  arguments.flag("no-color", no_color,
                 "Prints without colour; also NOMAD_CLI_NO_COLOR, NO_COLOR and TERM=dumb.");
  arguments.flag("force-color", force_color, "Prints with colour even when not on a terminal.");
  context = environment("NOMAD_CONTEXT");
  arguments.option("context", context,
                   "The context that says what neither flags nor the environment do; also "
                   "NOMAD_CONTEXT. Without it, the one that `context use` has chosen.");
  arguments.then([this] { return fill_from_context(*this); });
}

void CommonFlags::choose_color() const {
  set_color(!no_color && (force_color || takes_color(STDOUT_FILENO)));
}

Result<net::HttpClientOptions> CommonFlags::client_options() const {
  net::HttpClientOptions options;
  if (!address.empty()) options.address = address;
  if (!token.empty()) options.headers.push_back({"X-Nomad-Token", token});
  if (options.address.find("https://") == std::string::npos) return options;
  net::TlsOptions tls;
  tls.ca_file = ca_cert;
  tls.ca_path = ca_path;
  tls.cert_file = client_cert;
  tls.key_file = client_key;
  tls.verify_outgoing = !tls_skip_verify;
  auto context = NOMAD_TRY(net::TlsContext::make(std::move(tls)));
  options.connector = net::secure_connector(std::move(context), tls_server_name);
  return options;
}

Api::Api(CommonFlags flags, net::HttpClient client)
    : flags_{std::move(flags)}, client_{std::move(client)} {}

Result<Api> Api::make(const CommonFlags& flags, std::chrono::milliseconds answer_timeout) {
  flags.choose_color();
  auto options = NOMAD_TRY(flags.client_options().within("Error initializing client"));
  options.answer_timeout = answer_timeout;
  auto client
      = NOMAD_TRY(net::HttpClient::make(std::move(options)).within("Error initializing client"));
  return Api{flags, std::move(client)};
}

std::string Api::target(const std::string& path, const Query& query) const {
  std::string text = path;
  char separator = path.find('?') == std::string::npos ? '?' : '&';
  const auto add = [&](std::string_view name, std::string_view value) {
    text += separator;
    text += fmt::format("{}={}", name, percent_encode(value));
    separator = '&';
  };
  if (!flags_.region.empty()) add("region", flags_.region);
  if (!flags_.ns.empty()) add("namespace", flags_.ns);
  for (const auto& [name, value] : query)
    add(name, value);
  return text;
}

namespace {

/// Any JSON.
Result<boost::json::value> parsed(const net::ClientResponse& response) {
  if (is_page(response)) return Error{Errc::corrupt, fmt::format("the answer is {}", page_instead)};
  auto body = parse_json(response.body);
  if (!body)
    return Error{Errc::corrupt, fmt::format("the answer is no JSON: {}", body.error().what)};
  return body;
}

}  // namespace

Result<Answer> Api::exchange(const std::string& method,
                             const std::string& path,
                             const Query& query,
                             std::string body) {
  const auto begun = std::chrono::steady_clock::now();
  const auto response = NOMAD_TRY(send(method, path, query, std::move(body)));
  if (response.status / 100 != 2) return refusal(response);
  Answer answer;
  answer.took = std::chrono::steady_clock::now() - begun;
  answer.index = leading_number(response.header("X-Nomad-Index"));
  answer.known_leader = response.header("X-Nomad-KnownLeader") == "true";
  answer.last_contact
      = std::chrono::milliseconds{leading_number(response.header("X-Nomad-LastContact"))};
  answer.next_token = response.header("X-Nomad-NextToken");
  if (method != "GET" && response.body.empty()) return answer;
  // Nothing but who leads is answered by a word.
  auto answered = path.starts_with("/v1/status/") ? parsed(response) : json_of(response);
  answer.body = NOMAD_TRY(std::move(answered).within(fmt::format("{} {}", method, path)));
  return answer;
}

Result<net::ClientResponse> Api::send(const std::string& method,
                                      const std::string& path,
                                      const Query& query,
                                      std::string body) {
  return of_agent(client_.send({.method = method,
                                .target = target(path, query),
                                .headers = headers_,
                                .body = std::move(body)}));
}

Result<net::ClientResponse> Api::send_file(const std::string& method,
                                           const std::string& path,
                                           const std::string& file) {
  static constexpr std::uint64_t piece_bytes = 256 * 1024;
  std::error_code failure;
  if (!std::filesystem::is_regular_file(file, failure))
    return failure ? errno_error("open " + file, failure.value())
                   : Error{Errc::io, "open " + file + ": not a regular file"};
  std::ifstream from{file, std::ios::binary | std::ios::ate};
  if (!from) return errno_error("open " + file, errno);
  const auto size = static_cast<std::uint64_t>(from.tellg());
  from.seekg(0);
  const auto next_piece = [&from, &file, left = size]() mutable -> Result<std::string> {
    std::string piece(std::min(left, piece_bytes), '\0');
    if (!from.read(piece.data(), static_cast<std::streamsize>(piece.size())))
      return Error{Errc::io, "read " + file + ": it has become shorter"};
    left -= piece.size();
    return piece;
  };
  return of_agent(client_.send({.method = method,
                                .target = target(path, {}),
                                .headers = {},
                                .body = {},
                                .next_piece = next_piece,
                                .pieces_size = size}));
}

Result<boost::json::value> json_of(const net::ClientResponse& response) {
  auto body = NOMAD_TRY(parsed(response));
  if (body.is_string() || body.is_number())
    return Error{Errc::corrupt, "the answer is not of Nomad's API: is this an agent's address?"};
  return body;
}

Error refusal(const net::ClientResponse& response) {
  const auto said = is_page(response) ? page_instead : trim(response.body);
  return {net::code_of_status(response.status),
          fmt::format("Unexpected response code: {} ({})", response.status, said)};
}

Result<Answer> Api::get(const std::string& path, const Query& query) {
  return exchange("GET", path, query, "");
}

Result<Answer> Api::put(const std::string& path,
                        const boost::json::value& body,
                        const Query& query) {
  return exchange("PUT", path, query, body.is_null() ? "" : boost::json::serialize(body));
}

Result<Answer> Api::remove(const std::string& path, const Query& query) {
  return exchange("DELETE", path, query, "");
}

Result<net::ResponseStream> Api::stream(const std::string& path, const Query& query) {
  auto stream = NOMAD_TRY(
      client_.open({.method = "GET", .target = target(path, query), .headers = {}, .body = {}}));
  if (stream.status() / 100 == 2) {
    NOMAD_TRY(of_agent(net::ClientResponse{stream.status(), stream.headers(), {}}));
    return stream;
  }
  return refusal({stream.status(), stream.headers(), stream.read_all().value_or("")});
}

Result<net::Upgraded> Api::upgrade(const std::string& path,
                                   const Query& query,
                                   net::Headers headers) {
  return client_.upgrade(
      {.method = "GET", .target = target(path, query), .headers = std::move(headers), .body = {}});
}

std::string segment(std::string_view text) {
  // A name that is a dot, or two, would be cleaned away as a part of the path.
  if (text == ".") return "%2E";
  if (text == "..") return "%2E%2E";
  return percent_encode(text);
}

int fail(const Error& error) {
  std::cerr << shorten(error.what) << '\n';
  if (error.code == Errc::permission_denied)
    std::cerr << fmt::format(
        "Set NOMAD_TOKEN or -token to a token that may do this; `{} acl explain -help` tells how "
        "to "
        "find the right that is missing.\n",
        program_name());
  return 1;
}

}  // namespace nomad::cli
