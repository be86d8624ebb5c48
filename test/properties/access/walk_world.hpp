// WalkWorld: the API of a server with access control, asked without sockets, so that a request is
// served before `ask` returns and on its thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "actors/api/http/routes.hpp"
#include "runtime/access/policy/rights_cache.hpp"
#include "test/unit/actors/api/api_fixture.hpp"

namespace nomad::properties {

struct WalkAnswer {
  unsigned status = 0;
  std::string body = {};

  bool is_good() const { return status >= 200 && status < 300; }
};

/// What of the state calls may change: the index of the last change by what it is, with words in
/// front: "var a x/y", "job a web", "table acl_policies".
using WalkImage = std::map<std::string, std::uint64_t>;

class WalkWorld : public api::ApiFixture {
public:
  WalkWorld();
  ~WalkWorld();

  /// `token` empty: none.
  WalkAnswer ask(const std::string& method,
                 const std::string& target,
                 const std::string& body = "",
                 const std::string& token = "");

  /// As the first manager; the answer's JSON, null without one. It must be good.
  Json manage(const std::string& method, const std::string& target, const std::string& body = "");

  /// What a token gives now, "" among them; empty: it is none.
  access::RightsRef rights_of(const std::string& token);

  WalkImage image();

  std::string manager;  ///< Its secret.

private:
  explicit WalkWorld(std::shared_ptr<api::ApiOptions> kept);

  std::shared_ptr<api::ApiOptions> options_;
  actor::SystemConfig own_config_;
  actor::System own_system_{own_config_};
  std::shared_ptr<api::Context> context_;
  net::HttpRouter routes_;
  access::RightsCache cache_;
};

std::string walk_text(const boost::json::value& object, std::string_view member);

}  // namespace nomad::properties
