// AuditedCall: one call of the API as the audit log is told of it: before anything is done, and
// when it is answered, which it hears of as the gate of its answer (runtime/net/http/exchange.hpp):
// so of whatever answers, and also of nothing.
//
// Where delivery is enforced, an answer waits here until its line is written. A stream's head does
// not: of a stream or a session the line about its end comes too late to hold anything up.
//
// Of texts of errors only those are told that cannot quote what a caller sent in a body.
//
// Threads: as a Call's.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "actors/api/audit/auditor.hpp"
#include "runtime/access/authorize.hpp"
#include "runtime/access/judgement_record.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/net/http/exchange.hpp"
#include "runtime/state/store.hpp"

namespace nomad::api {

/// What a caller hears whose line cannot be written. Why, the agent's log says.
Error not_audited();

class AuditedCall final : public net::detail::AnswerGate,
                          public std::enable_shared_from_this<AuditedCall> {
public:
  /// `route` as the table lists it: "PUT /v1/job/*/plan".
  AuditedCall(std::shared_ptr<Auditor> auditor, const net::Request& request, std::string route);

  /// `who`, whose judgements are told from now on.
  access::Principal watch(const access::Principal& who) const { return who.seen_by(judged_); }

  /// Who asks, as it is known now. What his token is stands in `store`, where this agent has one.
  void knows(const access::Principal& who, const std::shared_ptr<state::Store>& store);

  /// What it is about, which its body names or which it has made: told in the lines from now on.
  void names(std::string_view object) { base_.object = object; }

  /// Writes the first line. `done` as `Auditor::write`.
  void receive(AuditFeed::Done done);

  /// Whether a session begins later than its tunnel opens, because it is judged by what comes then.
  void await_session(bool awaits) { awaits_session_ = awaits; }

  /// A session begins, unless it was refused. `done` as `Auditor::write`.
  void start_session(AuditFeed::Done done);

  /// What a client hears of in another way than by a status.
  void refuse(unsigned status, std::string_view text);

  // As a gate.
  void send(const std::shared_ptr<net::detail::Exchange>& exchange,
            net::Response response) override;
  void opened(unsigned status) override;
  void ended() override;
  void dropped(const std::shared_ptr<net::detail::Exchange>& exchange) override;

private:
  audit::Event event_of(audit::Stage stage) const;
  void tell(audit::Event event, AuditFeed::Done done) const;
  void complete(AuditFeed::Done done);
  std::optional<audit::Verdict> verdict() const;

  const std::shared_ptr<Auditor> auditor_;
  const std::chrono::steady_clock::time_point begun_;
  const std::shared_ptr<access::JudgementRecord> judged_
      = std::make_shared<access::JudgementRecord>();
  audit::Event base_;  ///< What is the same in all lines.
  std::optional<access::Principal> who_;
  std::vector<SecretText> mistaken_;  ///< Secrets that stand in the request for other things.
  unsigned status_ = 0;               ///< 0: nothing was answered yet.
  std::string error_;
  bool is_received_ = false;
  bool awaits_session_ = false;
  bool has_started_ = false;
  bool is_complete_ = false;
};

}  // namespace nomad::api
