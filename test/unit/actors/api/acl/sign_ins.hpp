// SignIns: an API with access control, and methods whose providers live in the test.
#pragma once

#include <chrono>
#include <string>

#include "test/unit/actors/api/acl/acl_api.hpp"
#include "test/unit/runtime/access/login/signer.hpp"

namespace nomad::api {

/// As a JSON string.
inline std::string json_text(const std::string& text) {
  return boost::json::serialize(boost::json::value(text));
}

/// Claims of a token that was made now.
inline std::string soon(const std::string& more = "") {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  return R"({"iat":)" + std::to_string(now) + R"(,"exp":)" + std::to_string(now + 300) + more + '}';
}

struct SignIns : Acls {
  void make_method(const std::string& name, const std::string& config) {
    manage("PUT", "/v1/acl/auth-method/" + name,
           R"({"Name":")" + name + R"(","Type":"JWT","TokenLocality":"local","MaxTokenTTL":"10m",
               "Config":)"
               + config + '}');
  }

  /// That trusts the key, and maps some claims.
  void make_static(const std::string& name, const test::Signer& signer) {
    make_method(name, R"({"JWTValidationPubKeys":[)" + json_text(signer.pem())
                          + R"(],"ClaimMappings":{"sub":"user","/org/team":"team"},
                               "ListClaimMappings":{"groups":"groups"}})");
  }

  void bind(const std::string& method,
            const std::string& type,
            const std::string& name,
            const std::string& selector = "") {
    manage("PUT", "/v1/acl/binding-rule",
           R"({"AuthMethod":")" + method + R"(","BindType":")" + type + R"(","BindName":")" + name
               + R"(","Selector":)" + json_text(selector) + '}');
  }

  net::ClientResponse login(const std::string& method,
                            const std::string& token,
                            const std::string& shown = "") {
    return ask("PUT", "/v1/acl/login",
               R"({"AuthMethodName":")" + method + R"(","LoginToken":)" + json_text(token) + '}',
               shown);
  }

  std::string said(const std::string& method, const std::string& token) {
    const auto response = login(method, token);
    return std::to_string(response.status) + ' ' + response.body;
  }

  Json signed_in(const std::string& method, const std::string& token) {
    const auto response = login(method, token);
    CAPTURE(response.body);
    REQUIRE(response.status == 200);
    return boost::json::parse(response.body);
  }
};

}  // namespace nomad::api
