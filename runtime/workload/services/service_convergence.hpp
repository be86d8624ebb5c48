// ServiceConvergence: decides what is asked of the provider of a group's or a task's services until
// it has what the job wants: the servers, for Nomad's own discovery, or a plugin. What happened
// goes in as calls; what to do about it comes out of `take`. No I/O, no clock, no thread, no actor.
//
// (1) One thing is asked at a time: what is gone first, then what is new or differs. What fails is
//     asked again, later each time. An answer to anything but the newest round is stale.
// (2) Services that move to another provider go from the old one first.
// (3) What was asked and is not answered may have been done, or not: a plugin may have what it was
//     asked to register, and nobody is sure to have what was to be changed.
// (4) An order is answered when there is nothing more to ask, or when its patience is over. Before
//     that is answered, what a plugin has not deregistered is left to others who remember it:
//     nobody may ask this machine again. Who registers anew has that taken back first, and what
//     was taken back the plugin may have.
// (5) A provider that begins anew knows nothing of what is wanted, and is told; what is to be
//     deregistered still is, since it may be known elsewhere.
//
//   settled ─order, provider_began─▶ asking ─done, with more to ask─▶ asking
//                                       │ └───done─▶ settled
//                                       └failed─▶ pausing ─time_over─▶ asking
//
// A registration with a plugin is `withdrawing` before it is `asking`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/back_off.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"
#include "runtime/workload/services/service_registrations.hpp"

namespace nomad::workload {

/// What a phase of the task or group wants.
struct ServiceOrder {
  std::uint64_t ticket = 0;
  std::string provider{};  ///< Empty: the same as before.
  bool registers = false;  ///< Otherwise all go.
  bool anew = false;       ///< The provider may have forgotten what it was told.
  /// What the job has now.
  Result<std::vector<ServiceRegistration>> services;
};

namespace service_action {

using Round = std::uint64_t;

/// Answer: `asked` at once, unless the provider can't be asked; then `done`, `failed` or
/// `forgotten`.
struct Register {
  Round round;
  std::string provider;
  std::vector<ServiceRegistration> services;
};

/// The same.
struct Deregister {
  Round round;
  std::string provider;
  std::vector<std::string> ids;
};

/// These are deregistered by others from now on, who remember it. Answer: `left`.
struct Leave {
  Round round;
  std::string provider;
  std::vector<std::string> ids;
};

/// The others are not to deregister these. Answer: `withdrawn` or `failed`.
struct Withdraw {
  Round round;
  std::string provider;
  std::vector<std::string> ids;
};

/// Answer: `time_over`, after `delay`.
struct Wait {
  Round round;
  Nanoseconds delay;
};

/// Answer: `patience_over`, after `delay`.
struct WaitAtMost {
  Round round;
  Nanoseconds delay;
};

struct AnswerOrder {
  std::uint64_t ticket;
};

/// A warning for the agent's log.
struct Warn {
  std::string text;
  std::string provider;  ///< Empty: none in particular.
  std::string error;
};

}  // namespace service_action

using ServiceAction = std::variant<service_action::Register,
                                   service_action::Deregister,
                                   service_action::Leave,
                                   service_action::Withdraw,
                                   service_action::Wait,
                                   service_action::WaitAtMost,
                                   service_action::AnswerOrder,
                                   service_action::Warn>;

class ServiceConvergence {
public:
  using Round = service_action::Round;

  /// How long an order waits for the provider.
  static constexpr Nanoseconds patience = std::chrono::seconds{5};

  /// `can_leave`: there are others who remember what is left to them.
  explicit ServiceConvergence(bool can_leave) : can_leave_{can_leave} {}

  /// What to do since the last call, in this order. To be called after every event.
  std::vector<ServiceAction> take() { return std::exchange(actions_, {}); }

  /// An error, that of the order's services, leaves what was wanted as it is; it is not answered.
  Result<> order(ServiceOrder order);
  /// A provider has begun anew.
  void provider_began(const std::string& provider);

  // Answers to actions.

  void asked(Round round);
  void done(Round round);
  /// `whom` cannot be reached, or says no.
  void failed(Round round, const Error& err, std::string_view whom);
  /// The servers know the allocation no more.
  void forgotten(Round round);
  /// `pending`: those that the others had to deregister.
  void withdrawn(Round round, const std::vector<std::string>& pending);
  void left(Round round, const Result<>& outcome);
  void time_over(Round round);
  void patience_over(Round round);

private:
  enum class State : std::uint8_t {
    settled,      ///< There is nothing to ask.
    withdrawing,  ///< What is to be registered is being taken back from the others.
    asking,
    pausing,  ///< What failed is asked again later.
  };

  bool is_asking() const { return state_ == State::asking || state_ == State::withdrawing; }

  struct Left {
    std::string provider;
    std::vector<std::string> ids;
  };

  /// What leads from what its holder has to what is wanted there.
  RegistrationChanges changes() const;
  bool is_still_wanted(const std::vector<ServiceRegistration>& services) const;
  void doubt(const std::string& id);
  void go_on();
  void ask();
  void answer_orders();

  void act(ServiceAction action) { actions_.push_back(std::move(action)); }

  bool can_leave_;
  std::vector<ServiceAction> actions_;
  State state_ = State::settled;
  Round round_ = 0;        ///< Of what was asked last.
  Round order_round_ = 0;  ///< Of the latest order.
  std::vector<ServiceRegistration> wanted_;
  std::map<std::string, ServiceRegistration> known_;  ///< That `holder_` has, by id.
  std::string provider_;               ///< Where they are wanted: "nomad", or one of a plugin.
  std::string holder_;                 ///< Where they are; another one after an order.
  RegistrationChanges asked_;          ///< Or about to be, after `withdrawing`.
  bool is_in_doubt_ = false;           ///< What is asked may be undone since it was asked.
  std::map<Round, Left> leaving_;      ///< To others, while they write it down.
  bool is_new_ = true;                 ///< No order has come.
  std::vector<std::uint64_t> orders_;  ///< Tickets of those that are not answered.
  BackOff pauses_{std::chrono::seconds{1}, std::chrono::seconds{30}};
  std::optional<Errc> failure_;  ///< The last one; repeated ones are not logged.
};

}  // namespace nomad::workload
