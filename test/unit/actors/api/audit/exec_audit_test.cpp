// What the audit log has of `alloc exec`.
#include <doctest/doctest.h>

#include "actors/api/audit/auditor.hpp"
#include "actors/core/system.hpp"
#include "runtime/base/files/bounded.hpp"
#include "test/support/access_policy.hpp"
#include "test/unit/actors/api/allocs/exec_fixture.hpp"

using namespace nomad;
using namespace nomad::api;

TEST_CASE("exec: the audit log has when a session began, whose it is, and when it was over") {
  const test::TempDir directory;
  actor::SystemConfig config;
  actor::System system{config};
  AuditOptions options;
  options.sinks.push_back({.file = {.path = directory.path() + "/audit.log"}});
  const auto auditor = start_auditor(system, std::move(options), {}).value();
  const auto stages = [&directory] {
    const auto text = read_whole_file(directory.path() + "/audit.log").value();
    std::string found;
    for (auto at = text.find("\"stage\":\""); at != text.npos; at = text.find("\"stage\"", at + 1))
      found += text.substr(at + 9, text.find('"', at + 9) - at - 9) + ' ';
    return found;
  };
  ExecFixture fixture{[&auditor](ApiOptions& made) {
    made.auditor = auditor;
    made.authenticator = test::a_only_rights();
  }};
  {
    Peer peer{fixture.address(), ExecFixture::target("[\"a\"]", "&task=server&ws_handshake=true")};
    peer.send(R"({"version":1,"auth_token":"root"})");
    fixture.started();
    CHECK(eventually([&] { return stages() == "AuditStarted OperationReceived SessionStarted "; }));
  }
  CHECK(eventually([&] {
    return stages() == "AuditStarted OperationReceived SessionStarted OperationComplete ";
  }));

  Peer refused{fixture.address(), ExecFixture::target("[\"a\"]", "&task=server&ws_handshake=true")};
  refused.send(R"({"version":1,"auth_token":"nothing"})");
  CHECK(refused.next().starts_with("close 1008"));
  CHECK(eventually([&] {
    return stages()
           == "AuditStarted OperationReceived SessionStarted OperationComplete "
              "OperationReceived OperationComplete ";
  }));
  CHECK(read_whole_file(directory.path() + "/audit.log").value().find("\"status_code\":403")
        != std::string::npos);
}
