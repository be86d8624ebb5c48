// Api: a command's conversation with an agent. Reads the flags and environment variables that all
// commands share and speaks HTTP; errors read as Nomad's CLI prints them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/value.hpp>

#include "cli/arguments.hpp"
#include "cli/output/json_view.hpp"
#include "runtime/base/result.hpp"
#include "runtime/net/http/http_client.hpp"

namespace nomad::cli {

/// Where a cluster is, and how it is spoken to.
struct Connection {
  std::string address;
  std::string region;
  std::string ns;
  std::string ca_cert;
  std::string ca_path;
  std::string client_cert;
  std::string client_key;
  std::string tls_server_name;
  bool tls_skip_verify = false;

  friend bool operator==(const Connection&, const Connection&) = default;
};

/// -address, -region, -namespace, -token, those about TLS, and the colour flags.
struct CommonFlags : Connection {
  std::string token;
  bool no_color = false;
  bool force_color = false;
  std::string context;  ///< The one whose address this is (cli/context); "": none.

  CommonFlags() = default;

  explicit CommonFlags(Arguments& arguments) { add_to(arguments); }

  /// Once `arguments` are parsed, the context has filled in what neither they nor the environment
  /// say. Stays where it is until then.
  void add_to(Arguments& arguments);

  /// For a client of the agent: address, token and TLS. Errors name the file that is wrong.
  Result<net::HttpClientOptions> client_options() const;

  /// Turns colour on or off for the process.
  void choose_color() const;
};

using Query = std::vector<std::pair<std::string, std::string>>;

/// An answer's JSON and the index it stands for.
struct Answer {
  boost::json::value body;
  std::uint64_t index = 0;
  std::string next_token;
  bool known_leader = false;
  std::chrono::milliseconds last_contact{0};  ///< Since the server has heard of the leader.
  std::chrono::nanoseconds took{0};

  View view() const { return View{body}; }
};

class Api {
public:
  /// Also chooses the colour. `answer_timeout`: for each exchange, of a stream until its answer
  /// begins; 0: none.
  static Result<Api> make(const CommonFlags& flags, std::chrono::milliseconds answer_timeout = {});

  /// GET of a path below the root ("/v1/jobs"), each of whose segments is escaped already.
  /// A refusal's text: `Unexpected response code: 404 (job not found)`.
  Result<Answer> get(const std::string& path, const Query& query = {});
  Result<Answer> put(const std::string& path,
                     const boost::json::value& body,
                     const Query& query = {});
  Result<Answer> remove(const std::string& path, const Query& query = {});
  /// Any method; the answer as it came, whatever its status.
  Result<net::ClientResponse> send(const std::string& method,
                                   const std::string& path,
                                   const Query& query,
                                   std::string body);
  /// The same with a file's content as the body, which is not held in memory.
  Result<net::ClientResponse> send_file(const std::string& method,
                                        const std::string& path,
                                        const std::string& file);
  Result<net::ResponseStream> stream(const std::string& path, const Query& query = {});

  /// Asks for another protocol on a connection of its own.
  Result<net::Upgraded> upgrade(const std::string& path, const Query& query, net::Headers headers);

  /// The namespace that is asked for, "default" when none is given.
  std::string ns() const { return flags_.ns.empty() ? "default" : flags_.ns; }

  /// Whether the user has named one.
  bool names_namespace() const { return !flags_.ns.empty(); }

  bool all_namespaces() const { return flags_.ns == "*"; }

  /// Where the agent is: of several addresses the one that was reached last.
  const std::string& address() const { return client_.address(); }

  /// Later requests, but for files and streams, have this header; an empty one is none.
  void add_header(std::string name, std::string value) {
    if (!value.empty()) headers_.push_back({std::move(name), std::move(value)});
  }

  /// Later requests go to this namespace.
  void use_namespace(const std::string& ns) { flags_.ns = ns; }

private:
  Api(CommonFlags flags, net::HttpClient client);

  Result<Answer> exchange(const std::string& method,
                          const std::string& path,
                          const Query& query,
                          std::string body);
  std::string target(const std::string& path, const Query& query) const;

  CommonFlags flags_;
  net::Headers headers_;
  net::HttpClient client_;
};

/// The JSON of an answer, which is no word and no number. Errors say what it is instead.
Result<boost::json::value> json_of(const net::ClientResponse& response);

/// An answer that is not 2xx as an error: `Unexpected response code: 404 (job not found)`.
Error refusal(const net::ClientResponse& response);

/// Escapes one path segment.
std::string segment(std::string_view text);

/// What ends a command with the exit code 1; `main` prints it.
inline Error mistake(std::string_view what) {
  return {Errc::rejected, std::string{what}};
}

/// Prints the error to stderr, what to do if a right is missing in a line of its own behind it, and
/// returns the exit code 1.
int fail(const Error& error);

/// "<what>: <error>".
inline int fail(std::string_view what, const Error& error) {
  return fail(error.within(what));
}

}  // namespace nomad::cli
