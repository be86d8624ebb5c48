// LaterSaves: what an actor of a client has saved without waiting for it. One message to the
// database is on its way; what comes until it is taken waits here, of each row the newest. So a
// disk that stands fills no mailbox.
//
// A part of the actor's state, used in its turns.
#pragma once

#include <memory>
#include <utility>

#include "actors/client/tools/client_db.hpp"
#include "actors/core/newest.hpp"

namespace nomad::client {

class LaterSaves {
public:
  void save(actor::Self* self, const ClientDb& db, storage::ClientBatch changes) {
    core_->waiting.append(std::move(changes));
    if (core_->under_way)
      core_->waiting.drop_overwritten();
    else
      go_on(self, db, core_);
  }

  /// What waits, to go in front of what somebody waits for, which is newer.
  storage::ClientBatch take() { return std::exchange(core_->waiting, {}); }

  /// What waits goes now: by who ends.
  void flush(actor::Self* self, const ClientDb& db) {
    if (!core_->waiting.empty()) self->send(db, client_db::SaveLater{take()});
  }

private:
  struct Core {
    storage::ClientBatch waiting;
    bool under_way = false;
  };

  static void go_on(actor::Self* self, const ClientDb& db, const std::shared_ptr<Core>& core) {
    if (core->waiting.empty()) return;
    core->under_way = true;
    const auto taken = [self, db, weak = std::weak_ptr{core}] {
      const auto known = weak.lock();
      if (!known) return;
      known->under_way = false;
      go_on(self, db, known);
    };
    actor::tell_news(self, db, client_db::SaveLater{std::exchange(core->waiting, {})},
                     actor::Priority::normal, taken);
  }

  std::shared_ptr<Core> core_ = std::make_shared<Core>();
};

}  // namespace nomad::client
