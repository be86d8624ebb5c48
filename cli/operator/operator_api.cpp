// operator api: sends a request to the API, or prints the curl command that would.
#include <iostream>
#include <limits>

#include <unistd.h>

#include <fmt/format.h>

#include "cli/api.hpp"
#include "cli/input.hpp"
#include "cli/operator/curl_command.hpp"
#include "cli/output/terminal_text.hpp"
#include "cli/run.hpp"
#include "runtime/base/text.hpp"

namespace nomad::cli {
namespace {

struct ApiRequestOptions : Arguments {
  using Arguments::Arguments;

  CommonFlags common{*this};
  const std::string& method
      = option("X", "The method; GET. The body of PUT, POST and DELETE comes from stdin.");
  const std::vector<std::string>& headers
      = list("H", "A header, name: value; may stand several times.");
  const std::string& filter = option("filter", "A filter expression.");
  const bool& dryrun
      = flag("dryrun",
             "Prints the curl command instead of sending the request. NOMAD_TOKEN is "
             "named in it, not shown; what -token says is.");
  bool verbose = false;
};

bool takes_body(std::string_view method) {
  return method == "PUT" || method == "POST" || method == "DELETE";
}

/// The path with what the flags ask for, unless the path says it already.
std::string target_of(const ApiRequestOptions& options) {
  auto path = options.positional()[0];
  if (!path.starts_with('/')) path = "/v1/" + path;
  const auto add = [&path](std::string_view name, const std::string& value) {
    const auto query = path.find('?');
    if (value.empty()) return;
    if (query != std::string::npos)
      for (const auto one : split(std::string_view{path}.substr(query + 1), '&'))
        if (one.substr(0, one.find('=')) == name) return;
    path += fmt::format("{}{}={}", query == std::string::npos ? '?' : '&', name,
                        percent_encode(value));
  };
  add("namespace", options.common.ns);
  add("region", options.common.region);
  add("filter", options.filter);
  return path;
}

void show_answer(const net::ClientResponse& response, bool verbose) {
  if (verbose) {
    std::cerr << "< HTTP/1.1 " << response.status << '\n';
    for (const auto& header : response.headers)
      std::cerr << "< " << header.name << ": " << header.value << '\n';
  }
  const RawOutput raw;
  std::cout << response.body;
  // For people at a terminal; programs get the answer as it came.
  if (::isatty(STDOUT_FILENO) == 1 && !response.body.empty() && response.body.back() != '\n')
    std::cout << '\n';
}

Result<int> print_curl(const ApiRequestOptions& options, const std::string& target) {
  const auto method = options.method.empty() ? std::string{"GET"} : options.method;
  std::cout << NOMAD_TRY(curl_command(options.common, {.method = method,
                                                       .target = target,
                                                       .headers = options.headers,
                                                       .has_body = takes_body(method),
                                                       .verbose = options.verbose,
                                                       .is_token_typed = options.is_given("token")})
                             .within("Error creating curl command"))
            << '\n';
  return 0;
}

}  // namespace

Result<int> run_operator_api(const std::vector<std::string>& arguments) {
  ApiRequestOptions options{"operator api [options] <path>", "Sends a request to the API."};
  options.flag("v", options.verbose, "Shows the answer's status and headers on stderr.");
  options.flag("verbose", options.verbose, "The same.");
  if (auto code = options.parse(arguments)) return *code;
  if (options.positional().size() != 1) return options.misuse("A path or URL is required");
  const auto target = target_of(options);
  auto to = NOMAD_TRY(options.common.client_options().within("Error initializing client"));
  for (const auto& header : options.headers) {
    const auto colon = header.find(':');
    if (colon == std::string::npos)
      return options.misuse(fmt::format("-H {}: expected \"name: value\"", quote(header)));
    const auto value = header.find_first_not_of(' ', colon + 1);
    to.headers.push_back(
        {header.substr(0, colon), value == std::string::npos ? "" : header.substr(value)});
  }
  if (options.dryrun) return print_curl(options, target);
  net::ClientRequest request{.method = options.method.empty() ? "GET" : options.method,
                             .target = target,
                             .headers = {},
                             .body = {}};
  if (takes_body(options.method))
    request.body = NOMAD_TRY(read_input("-", std::numeric_limits<std::size_t>::max()));
  auto client = NOMAD_TRY(net::HttpClient::make(std::move(to)).within("Error initializing client"));
  const auto response = client.send(request);
  if (!response) return fail("Error making request", response.error());
  show_answer(*response, options.verbose);
  return 0;  // also of an error: the answer is what was asked for
}

}  // namespace nomad::cli
