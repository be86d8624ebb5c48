#include "actors/client/drivers/driver_manager.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "actors/client/drivers/driver_objects.hpp"
#include "actors/core/newest.hpp"
#include "actors/core/supervise.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/respawn_delay.hpp"

namespace nomad::client {
namespace {

using driver::DriverAnswer;
using schema::plugin::Fingerprint;

constexpr auto ask_timeout = std::chrono::seconds{50};
constexpr auto look_interval = std::chrono::seconds{30};

/// How the drivers feel is asked.
struct LookDue {
  using is_message = void;
};

/// A driver that died is followed by another.
struct RespawnDue {
  using is_message = void;
  std::string name;
};

using ManagerSelf = actor::WithInternal<DriverManager,
                                        void(plugin_agent::Notice),
                                        plugin_agent::Answered(plugin_agent::Ask),
                                        void(LookDue),
                                        void(RespawnDue)>;

/// A driver, and what is known of the life that it has now.
struct Slot {
  KnownDriver known;
  Driver actor;            ///< Empty between two lives.
  std::uint64_t life = 0;  ///< Tells answers of this one from those of earlier ones.
  Nanoseconds since{0};
  bool is_asked = false;  ///< How it feels.
  std::string fault;      ///< Why it was ended, if it did not end by itself.
  workload::RespawnDelay delay;
};

class ManagerState {
public:
  static constexpr const char* name = "driver_manager";

  explicit ManagerState(ManagerSelf::pointer actor) : self_{actor} {}

  void init(const DriverManagerOptions& options);
  void look();
  void respawn(const std::string& driver);
  void child_down(const actor::Down& down);
  void heard(const plugin_agent::Notice& msg);
  void set_catalog(const driver_manager::SetCatalog& msg);

  void serve(const driver_manager::Serve& msg) { agents_[key_of(msg.id)] = msg.agent; }

  void leave(const driver_manager::Leave& msg) { agents_.erase(key_of(msg.id)); }

private:
  static std::string key_of(const driver::TaskId& id) { return id.alloc_id + '/' + id.task; }

  void add(const std::string& driver) {
    slots_[driver].known.retired = options_.is_allowed && !options_.is_allowed(driver);
  }

  void spawn(const std::string& driver);
  void ask_what(const std::string& driver);
  void ask_how(const std::string& driver);
  void described(const std::string& driver, const driver::Answered& answer);
  void give_up(const std::string& driver, const std::string& fault);
  void take_health(const std::string& driver, Object<Fingerprint> health);
  void feels_bad(Slot& slot, const std::string& why);
  void publish();

  /// Of the life that asks; null when it is over.
  Slot* slot_of(const std::string& driver, std::uint64_t life) {
    const auto found = slots_.find(driver);
    return found != slots_.end() && found->second.life == life && found->second.actor
               ? &found->second
               : nullptr;
  }

  Nanoseconds now() const { return self_->now().time_since_epoch(); }

  ManagerSelf::pointer self_;
  DriverManagerOptions options_;
  std::map<std::string, Slot> slots_;
  std::unordered_map<std::string, TaskAgent> agents_;  ///< By allocation and task.
  std::uint64_t last_life_ = 0;
  bool published_ = false;
  actor::Newest<DriverManagerParent, driver_manager::Changed> news_;
};

void ManagerState::init(const DriverManagerOptions& options) {
  options_ = options;
  for (const auto& [driver, entry] : options_.plugins->drivers)
    add(driver);
  for (const auto& [driver, slot] : slots_)
    spawn(driver);
  publish();  // There may be none.
  actor::send_self_after(self_, look_interval, LookDue{});
}

void ManagerState::spawn(const std::string& driver) {
  auto& slot = slots_.at(driver);
  auto options = options_.common;
  options.name = driver;
  options.agent = self_;
  if (const auto config = options_.configs.find(driver); config != options_.configs.end())
    options.config = config->second;
  if (slot.known.retired) options.config = {{"enabled", "false"}};
  slot.actor = options_.plugins->drivers.at(driver).spawn(self_, options);
  slot.since = now();
  slot.fault = {};
  slot.is_asked = false;
  slot.life = ++last_life_;
  ask_what(driver);
}

void ManagerState::ask_what(const std::string& driver) {
  const auto& slot = slots_.at(driver);
  self_->request(slot.actor, ask_timeout, driver::describe())
      .then(
          [this, driver, life = slot.life](const driver::Answered& answer) {
            if (slot_of(driver, life) != nullptr) described(driver, answer);
          },
          [this, driver, life = slot.life](const Error& err) {
            if (slot_of(driver, life) != nullptr)
              give_up(driver, "it did not say what it is: " + err.what);
          });
}

void ManagerState::described(const std::string& driver, const driver::Answered& answer) {
  if (const auto refusal = driver::refusal_of(answer, DriverAnswer::DESCRIPTION))
    return give_up(driver, "it did not say what it is: " + refusal->error.what);
  auto& slot = slots_.at(driver);
  slot.known.description
      = Object<schema::plugin::DriverDescription>::freeze(answer.answer->getDescription());
  slot.known.driver = slot.actor;
  publish();
  if (!slot.is_asked) ask_how(driver);
}

// -- how they feel -------------------------------------------------------------------------------

void ManagerState::look() {
  actor::send_self_after(self_, look_interval, LookDue{});
  for (const auto& [driver, slot] : slots_)
    if (slot.known.driver && !slot.is_asked) ask_how(driver);
}

void ManagerState::ask_how(const std::string& driver) {
  auto& slot = slots_.at(driver);
  slot.is_asked = true;
  self_->request(slot.actor, ask_timeout, driver::fingerprint())
      .then(
          [this, driver, life = slot.life](const driver::Answered& answer) {
            auto* const asked = slot_of(driver, life);
            if (asked == nullptr) return;
            asked->is_asked = false;
            if (const auto refusal = driver::refusal_of(answer, DriverAnswer::FINGERPRINT))
              feels_bad(*asked, refusal->error.what);
            else
              take_health(driver, Object<Fingerprint>::freeze(answer.answer->getFingerprint()));
          },
          [this, driver, life = slot.life](const Error& err) {
            auto* const asked = slot_of(driver, life);
            if (asked == nullptr) return;
            asked->is_asked = false;
            feels_bad(*asked, err.what);
          });
}

void ManagerState::take_health(const std::string& driver, Object<Fingerprint> health) {
  auto& known = slots_.at(driver).known;
  if (known.health && known.health.equals(health)) return;
  known.health = std::move(health);
  publish();
}

/// What it is stays known; nothing is placed here by it.
void ManagerState::feels_bad(Slot& slot, const std::string& why) {
  Draft<Fingerprint> draft;
  if (slot.known.health) draft->setAttributes(slot.known.health->getAttributes());
  draft->setDetected(slot.known.health && slot.known.health->getDetected());
  draft->setDescription(text("failed to fingerprint driver: " + why));
  slot.known.health = draft.freeze();
  publish();
}

/// Nothing is told before everybody has said how he feels, so that the node is registered once;
/// of who is retired it is enough that he is there, to end what he left running.
void ManagerState::publish() {
  const auto is_unknown = [](const auto& entry) {
    const auto& known = entry.second.known;
    return !known.health && !(known.retired && known.driver);
  };
  if (!published_ && std::ranges::any_of(slots_, is_unknown)) return;
  published_ = true;
  auto drivers = std::make_shared<KnownDrivers>();
  for (const auto& [driver, slot] : slots_)
    drivers->emplace(driver, slot.known);
  news_.tell(self_, options_.parent, driver_manager::Changed{std::move(drivers)});
}

// -- their deaths --------------------------------------------------------------------------------

void ManagerState::give_up(const std::string& driver, const std::string& fault) {
  auto& slot = slots_.at(driver);
  slot.fault = fault;
  actor::kill(slot.actor);
}

void ManagerState::child_down(const actor::Down& down) {
  for (auto& [driver, slot] : slots_) {
    if (!slot.actor || slot.actor.address() != down.source) continue;
    const auto why = !slot.fault.empty() ? slot.fault
                     : down.crashed      ? down.reason.what
                                         : std::string{"the process of its plugin has ended"};
    const auto delay = slot.delay.after(now() - slot.since);
    log::error("client", "a driver ended; another follows",
               {{"driver", driver}, {"delay", format_duration(delay)}, {"error", why}});
    slot.actor = {};
    slot.known.driver = {};
    feels_bad(slot, fmt::format("it ended ({}); another follows", why));
    actor::send_self_after(self_, delay, RespawnDue{driver});
    return;
  }
}

void ManagerState::respawn(const std::string& driver) {
  const auto found = slots_.find(driver);
  if (found != slots_.end() && !found->second.actor) spawn(driver);
}

void ManagerState::set_catalog(const driver_manager::SetCatalog& msg) {
  options_.plugins = msg.plugins;
  const auto& wanted = options_.plugins->drivers;
  for (auto each = slots_.begin(); each != slots_.end();) {
    if (wanted.contains(each->first)) {
      ++each;
      continue;
    }
    actor::kill(each->second.actor);
    each = slots_.erase(each);
  }
  for (const auto& [driver, entry] : wanted) {
    if (const auto known = slots_.find(driver); known != slots_.end()) {
      // Its plugin may be another version, which can do other things.
      if (known->second.known.driver) ask_what(driver);
      continue;
    }
    add(driver);
    spawn(driver);
  }
  publish();
}

// -- what they tell ------------------------------------------------------------------------------

void ManagerState::heard(const plugin_agent::Notice& msg) {
  const auto notice = *msg.notice;
  if (notice.isFingerprint()) {
    const auto found = slots_.find(copy(notice.getDriver()));
    if (found != slots_.end() && found->second.known.driver)
      take_health(found->first, Object<Fingerprint>::freeze(notice.getFingerprint()));
    return;
  }
  const driver::TaskId id{copy(notice.getAllocId()), copy(notice.getTask())};
  const auto agent = agents_.find(key_of(id));
  if (agent == agents_.end()) {
    log::debug("client", "a driver tells of a task that nobody looks after",
               {{"alloc", id.alloc_id}, {"task", id.task}});
    return;
  }
  if (notice.isExited())
    actor::send_urgent(self_, agent->second, plugin_agent::Notice{msg});
  else
    self_->send(agent->second, plugin_agent::Notice{msg});
}

ManagerSelf::behavior_type driver_manager_actor(ManagerSelf::stateful_pointer<ManagerState> self,
                                                const DriverManagerOptions& options) {
  auto& state = self->state;
  actor::on_down(self, [&state](const actor::Down& down) { state.child_down(down); });
  state.init(options);
  return {
      [&state](const driver_manager::Serve& msg) { state.serve(msg); },
      [&state](const driver_manager::Leave& msg) { state.leave(msg); },
      [&state](const driver_manager::SetCatalog& msg) { state.set_catalog(msg); },
      [&state](const plugin_agent::Notice& msg) { state.heard(msg); },
      [](const plugin_agent::Ask&) -> actor::Answer<plugin_agent::Answered> {
        return Error{Errc::rejected, "this agent cannot answer that to a driver"};
      },
      [&state](LookDue) { state.look(); },
      [&state](const RespawnDue& msg) { state.respawn(msg.name); },
  };
}

}  // namespace

DriverManager spawn_driver_manager(const actor::Owner& owner, DriverManagerOptions options) {
  return actor::spawn<actor::Policy::restart>(owner, driver_manager_actor, std::move(options));
}

}  // namespace nomad::client
