#include "actors/core/supervise.hpp"

#include <memory>
#include <utility>

#include <caf/actor_system.hpp>
#include <caf/send.hpp>

#include "actors/core/caf_actor.hpp"
#include "actors/core/caf_bridge.hpp"
#include "runtime/base/name_table.hpp"

namespace nomad::actor {

std::string_view to_string(Policy policy) {
  static constexpr std::string_view names[] = {"report", "end_owner", "restart"};
  static_assert(name_in(names, Policy::restart) == "restart");
  return name_in(names, policy);
}

Owner::Owner(Ref ref) : system_{ref.get()->home_system}, ref_{std::move(ref)} {}

void on_down(Self* self, std::function<void(const Down&)> handler) {
  self->caf_actor().set_on_down(std::move(handler));
}

void on_exit(Self* self, std::function<void()> handler) {
  self->caf_actor().set_on_exit(std::move(handler));
}

void stop(const Ref& actor) {
  if (actor) caf::anon_send_exit(as_caf(actor), caf::exit_reason::user_shutdown);
}

void kill(const Ref& actor) {
  if (actor) caf::anon_send_exit(as_caf(actor), caf::exit_reason::kill);
}

Ref spawn_boot(const Owner& owner, std::unique_ptr<Boot> boot, Thread thread) {
  const auto above = owner.ref();
  const auto spawned = thread == Thread::own
                           ? owner.system().spawn<CafActor, caf::detached>(std::move(boot), above)
                           : owner.system().spawn<CafActor>(std::move(boot), above);
  const Ref child{caf::actor_cast<caf::actor_control_block*>(spawned)};
  if (owner.self() != nullptr)
    owner.self()->caf_actor().adopt(child);
  else if (above)
    above.tell(Mail::of(CafActor::Adopt{child}), Priority::urgent);
  return child;
}

void give(const Any& child, const Any& owner) {
  child.ref().tell(Mail::of(CafActor::Belong{owner.ref()}), Priority::urgent);
}

namespace {

struct RootState {
  static constexpr const char* name = "root";
};

}  // namespace

Any spawn_root(System& system, std::function<void(const Error&)> on_fatal) {
  const auto root = [on_fatal](Any::stateful_pointer<RootState> self) -> Any::behavior_type {
    self->caf_actor().outlive_children();
    on_down(self, [self, on_fatal](const Down& down) {
      if (!down.crashed || down.restarted) return;
      on_fatal(down.reason);
      on_down(self, [](const Down&) {});
    });
    return {};
  };
  return spawn(system, root);
}

}  // namespace nomad::actor
