// Acls: an API with access control, the authenticator of a real server and the first token.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <doctest/doctest.h>

#include "runtime/cluster/data/stored_rights.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

namespace nomad::api {

inline const std::string no_such = "11111111-2222-4333-8444-555555555555";

/// Before the API, which reads them.
struct ResetFiles {
  test::TempDir files;
};

struct Acls : ResetFiles, ApiFixture {
  explicit Acls(bool bootstraps = true, access::GuessLimits guesses = {})
      : ApiFixture{[this, guesses](ApiOptions& options) {
          options.acl.enabled = true;
          options.acl.reset_file = files.path() + "/acl-bootstrap-reset";
          options.authenticator = access::Authenticator::make(
              {.lookup = cluster::lookup_in(options.state.store), .guesses = guesses});
        }} {
    add_root_key();
    if (!bootstraps) return;
    boot = boost::json::parse(ask("PUT", "/v1/acl/bootstrap").body);
    manager = text_in(boot, "SecretID");
  }

  static std::string text_in(const Json& object, std::string_view member) {
    const auto& text = object.at({member.data(), member.size()}).as_string();
    return {text.data(), text.size()};
  }

  net::ClientResponse ask(const std::string& method,
                          const std::string& target,
                          const std::string& body = "",
                          const std::string& token = "") {
    net::ClientRequest request{.method = method, .target = target, .body = body};
    if (!token.empty()) request.headers.push_back({"X-Nomad-Token", token});
    auto response = client().send(std::move(request));
    CAPTURE(target);
    REQUIRE(response.has_value());
    return std::move(*response);
  }

  /// As the manager; the answer must be good.
  Json manage(const std::string& method, const std::string& target, const std::string& body = "") {
    const auto response = ask(method, target, body, manager);
    CAPTURE(target);
    CAPTURE(response.body);
    REQUIRE(response.status == 200);
    return response.body.empty() ? Json{} : boost::json::parse(response.body);
  }

  std::string refused(const std::string& method,
                      const std::string& target,
                      const std::string& body = "") {
    const auto response = ask(method, target, body, manager);
    return std::to_string(response.status) + ' ' + response.body;
  }

  std::string status_for(const std::string& token, const std::string& target) {
    const auto response = ask("GET", target, "", token);
    return std::to_string(response.status) + ' ' + response.body;
  }

  Json make_token(const std::string& body) { return manage("PUT", "/v1/acl/token", body); }

  void make_policy(const std::string& name) {
    manage("PUT", "/v1/acl/policy/" + name, R"({"Name":")" + name + R"(","Rules":""})");
  }

  Json boot;
  std::string manager;
};

}  // namespace nomad::api
