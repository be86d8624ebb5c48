// Auditor: what all calls of an Api share of the audit log: its sinks, and what is left out.
//
// With a sink whose delivery is enforced a call goes on, and its answer goes out, when the line is
// written and synced; if it cannot be, the call is refused. Others are told, and may lose lines.
//
// Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "actors/api/audit/audit_log.hpp"
#include "runtime/audit/filter.hpp"
#include "runtime/base/random.hpp"

namespace nomad::api {

struct AuditSink {
  audit::FileOptions file{};
  bool is_enforced = true;
};

struct AuditOptions {
  std::vector<AuditSink> sinks{};
  std::vector<audit::Filter> filters{};
  std::string node_ip{};  ///< "127.0.0.1:4646"
};

class Auditor {
public:
  struct Sink {
    StartedAuditLog log;
    bool is_enforced = true;
  };

  Auditor(std::vector<Sink> sinks, std::vector<audit::Filter> filters, std::string node_ip);

  /// Ends the actors, behind what waits for them.
  void stop() const;

  const std::string& node_ip() const { return node_ip_; }

  bool is_enforced() const { return enforced_ > 0; }

  /// Whether no filter leaves that out.
  bool wants(audit::Stage stage, std::string_view endpoint, std::string_view operation) const;

  /// `done` is called once, when all sinks that are enforced have it: at once without any, else on
  /// any thread.
  void write(const std::string& event, AuditFeed::Done done) const;

  std::string make_id();

private:
  const std::vector<Sink> sinks_;
  const std::vector<audit::Filter> filters_;
  const std::string node_ip_;
  const std::size_t enforced_;
  std::mutex guard_;
  Random random_;
};

/// Opens all sinks. The error names the one that cannot be.
Result<std::shared_ptr<Auditor>> start_auditor(const actor::Owner& owner,
                                               AuditOptions options,
                                               const std::shared_ptr<telemetry::Registry>& metrics);

}  // namespace nomad::api
