// What the audit log has of `alloc exec`.
#include <filesystem>

#include <doctest/doctest.h>

#include "actors/api/audit/auditor.hpp"
#include "actors/core/system.hpp"
#include "runtime/base/files/bounded.hpp"
#include "test/support/access_policy.hpp"
#include "test/unit/actors/api/allocs/exec_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

struct ExecAudit {
  ExecAudit() {
    AuditOptions options;
    options.sinks.push_back({.file = {.path = path}});
    auditor = start_auditor(system, std::move(options), {}).value();
    fixture.emplace([this](ApiOptions& made) {
      made.auditor = auditor;
      made.authenticator = test::a_only_rights();
    });
  }

  std::string text() const { return read_whole_file(path).value_or(std::string{}); }

  std::string stages() const {
    const auto all = text();
    std::string found;
    for (auto at = all.find("\"stage\":\""); at != all.npos; at = all.find("\"stage\"", at + 1))
      found += all.substr(at + 9, all.find('"', at + 9) - at - 9) + ' ';
    return found;
  }

  bool eventually_has(const std::string& expected) const {
    return test::eventually_in(std::filesystem::path{path}.parent_path(),
                               [&] { return stages() == expected; });
  }

  Peer peer() const {
    return Peer{fixture->address(),
                ExecFixture::target("[\"a\"]", "&task=server&ws_handshake=true")};
  }

  test::TempDir directory;
  std::string path = directory.path() + "/audit/audit.log";
  actor::SystemConfig config;
  actor::System system{config};
  std::shared_ptr<Auditor> auditor;
  std::optional<ExecFixture> fixture;
};

}  // namespace

TEST_CASE("exec: the audit log has when a session began, whose it is, and when it was over") {
  ExecAudit log;
  const std::string session = "AuditStarted OperationReceived SessionStarted ";
  {
    auto peer = log.peer();
    peer.send(R"({"version":1,"auth_token":"root"})");
    log.fixture->started();
    CHECK(log.stages() == session);
  }
  CHECK(log.eventually_has(session + "OperationComplete "));

  auto refused = log.peer();
  refused.send(R"({"version":1,"auth_token":"nothing"})");
  CHECK(refused.next().starts_with("close 1008"));
  CHECK(log.eventually_has(session + "OperationComplete OperationReceived OperationComplete "));
  CHECK(log.text().find("\"status_code\":403") != std::string::npos);
}

TEST_CASE("exec: where delivery is enforced, no command starts before a line has whose it is") {
  ExecAudit log;
  auto peer = log.peer();
  std::filesystem::remove_all(std::filesystem::path{log.path}.parent_path());
  peer.send(R"({"version":1,"auth_token":"root"})");
  CHECK(peer.next() == "close 1011 event not written");
  CHECK(log.fixture->played->executed.empty());
}
