// FakeAgent: an agent that gives prepared answers and remembers what it was asked, and a user at a
// terminal who runs commands against it.
#pragma once

#include <deque>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "runtime/base/text.hpp"
#include "runtime/net/http/http_server.hpp"
#include "test/unit/cli/capture.hpp"
#include "test/unit/cli/typed.hpp"

namespace nomad::test {

class FakeAgent {
public:
  using Command = Result<int> (*)(const std::vector<std::string>&);

  /// What `method` `path` is answered with from now on; anything else is not found. "@body@" in it
  /// stands for the request's body, percent-encoded.
  void answer(const std::string& request, std::string body, unsigned status = 200) {
    const std::lock_guard lock{guard_};
    answers_[request] = {{status, std::move(body)}};
  }

  /// What the same is answered with after it was asked once; the last one for good.
  void then(const std::string& request, std::string body, unsigned status = 200) {
    const std::lock_guard lock{guard_};
    answers_[request].emplace_back(status, std::move(body));
  }

  /// What the next page of that list has as its token.
  void next_token(std::string token) {
    const std::lock_guard lock{guard_};
    next_token_ = std::move(token);
  }

  /// Runs the command. `out` and `err` are what it printed, with the error that it ended in.
  int run(Command command, std::vector<std::string> arguments, const std::string& typed = "") {
    net::HttpRouter router;
    router.handle_rest([this](net::Responder responder) { serve(std::move(responder)); });
    net::ServerOptions options;
    options.listen = {"127.0.0.1:0"};
    const auto server = net::HttpServer::start(std::move(options), std::move(router));
    REQUIRE(server.has_value());
    arguments.insert(arguments.begin(), {"-address", "http://" + server->addresses().front()});
    asked.clear();
    tokens.clear();
    const Typed input{typed};
    const Capture printed;
    const auto code = command(arguments);
    out = printed.out();
    err = printed.err() + (code ? "" : code.error().what);
    return code ? *code : 1;
  }

  /// The last request that was no GET: "PUT /v1/namespace {…}".
  std::string written() const {
    for (auto one = asked.rbegin(); one != asked.rend(); ++one)
      if (!one->starts_with("GET ")) return *one;
    return "";
  }

  std::vector<std::string> asked;   ///< "GET /v1/namespaces?prefix=a", of the last run.
  std::vector<std::string> tokens;  ///< Those of the same requests.
  std::string out;
  std::string err;

private:
  void serve(net::Responder responder) {
    const std::lock_guard lock{guard_};
    const auto& request = responder.request();
    auto line = std::string{request.method} + ' ' + std::string{request.target};
    if (!request.body.empty()) line += ' ' + std::string{request.body};
    asked.push_back(std::move(line));
    tokens.emplace_back(request.header("X-Nomad-Token"));
    const auto known = answers_.find(std::string{request.method} + ' ' + std::string{request.path});
    net::Response response;
    response.content_type = "application/json";
    response.status = known == answers_.end() ? 404 : known->second.front().first;
    response.body = known == answers_.end() ? "not found" : known->second.front().second;
    if (known != answers_.end() && known->second.size() > 1) known->second.pop_front();
    if (const auto at = response.body.find("@body@"); at != std::string::npos)
      response.body.replace(at, 6, percent_encode(request.body));
    response.headers.push_back({"X-Nomad-Index", "7"});
    if (!next_token_.empty()) response.headers.push_back({"X-Nomad-NextToken", next_token_});
    responder.send(std::move(response));
  }

  std::mutex guard_;  ///< Of what the agent's thread reads.
  std::map<std::string, std::deque<std::pair<unsigned, std::string>>> answers_;
  std::string next_token_;
};

}  // namespace nomad::test
