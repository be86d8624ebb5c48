// ApiFixture: a whole HTTP API over a real state store and a log that applies at once, with actors
// that play the client node and Raft. Tests speak HTTP to it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <caf/actor_system.hpp>

#include "actors/api/api.hpp"
#include "actors/core/system.hpp"
#include "actors/raft/state_fsm.hpp"
#include "runtime/net/http/http_client.hpp"
#include "test/support/anybody.hpp"
#include "test/support/eventually.hpp"
#include "test/support/temp_dir.hpp"
#include "test/unit/runtime/state/fixture.hpp"

namespace nomad::api {

/// What the played actors and the log were asked, and how they are to answer.
struct Played {
  std::mutex guard;
  std::optional<Error> refusal;      ///< Every write is refused with it.
  std::vector<door::NodeAsk> asked;  ///< As a node.
  std::vector<client::client_api::Exec> executed;
  std::function<Result<std::shared_ptr<host::ExecSession>>()> start_session;  ///< For them.
  std::string alloc_dir;  ///< Of the allocation `own_alloc`.
  std::string alloc_ns = "default";
  bool task_started = true;
  client::client_api::CheckReports checks;
  std::vector<client::client_api::IdentityReport> identities;
  /// What its plugins say to questions about volumes; empty: it has none.
  std::function<Result<door::NodeReply>(const door::NodeAsk&)> volumes;
  bool keeps_commands = false;
  std::vector<Bytes> commands;             ///< What was written to the log, if they are kept.
  bool leads = true;                       ///< Whether a read index is granted.
  std::vector<server::RenewLock> renewed;  ///< Locks of variables.
  std::optional<Error> lost_lock;          ///< What a renewal is refused with.
  std::function<void()> before_read_index = [] {};
};

/// Ids that look like ids.
std::string uuid(unsigned number);

inline const std::string own_alloc = "aaaaaaaa-0000-0000-0000-000000000001";
/// What the disk of `own_alloc` is given out for.
inline const std::string migrate_token = "token-of-the-disk";
inline const std::string own_node = "bbbbbbbb-0000-0000-0000-000000000001";

class ApiFixture {
public:
  explicit ApiFixture(const std::function<void(ApiOptions&)>& change = {});
  ~ApiFixture();

  using Json = boost::json::value;

  net::ClientResponse get(const std::string& target);
  net::ClientResponse send(const std::string& method,
                           const std::string& target,
                           const std::string& body = "");

  /// The answer's JSON; the request must succeed.
  Json json(const std::string& target);

  /// The text of a refusal with its status: "404 job not found".
  std::string refusal(const std::string& target);
  std::string refusal(const std::string& method,
                      const std::string& target,
                      const std::string& body);

  net::HttpClient client() const;

  const std::string& address() const { return api->addresses().front(); }

  state::StateFixture& state() { return *state_; }

  /// Waits until so many requests wait for a change of the state, which tell nobody; whether they
  /// do.
  bool has_waiting(std::size_t requests) {
    return test::succeeds([&] { return state().store.watches().size() == requests; });
  }

  void add_namespace(const std::string& name);

  /// Makes the cluster's first root key, without which variables cannot be written.
  void add_root_key();

  std::shared_ptr<Played> played = std::make_shared<Played>();
  test::TempDir directory;
  test::TempDir uploads;
  std::shared_ptr<security::Keyring> keyring;
  std::shared_ptr<raft::LeaderLease> lease = std::make_shared<raft::LeaderLease>();
  std::shared_ptr<raft::LeaderView> leader = std::make_shared<raft::LeaderView>();
  std::shared_ptr<server::DecisionFeed> decision_feed;

private:
  /// Applies what is proposed, or refuses it as the test asked.
  void apply();

  std::shared_ptr<state::StateFixture> state_ = std::make_shared<state::StateFixture>();
  actor::SystemConfig config_;
  actor::System system_{config_};
  std::shared_ptr<raft::ProposalQueue> log_
      = std::make_shared<raft::ProposalQueue>(1000, std::size_t{1} << 26);
  raft::StateFsm fsm_{std::shared_ptr<state::Store>{state_, &state_->store}};
  client::ClientApi client_;
  RaftReader raft_;
  server::LockTracker locks_;
  server::DecisionLog decisions_;

public:
  std::unique_ptr<Api> api;
};

/// "a,b" of a member of all objects of a JSON array.
std::string texts_of(const boost::json::value& list, std::string_view member);

}  // namespace nomad::api
