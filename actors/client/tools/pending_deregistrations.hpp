// PendingDeregistrations: what providers of services (of plugins) still have to deregister when
// nobody may be left who would ask them: the allocation, or its task, is through, or the agent
// dies, and the job says no more what there was. They are asked until they have done it, by this
// agent or by the next one.
//
// Owns:   what is pending, in memory and as rows of the client's database.
// Takes:  Keep, answered when it is written down; `overloaded` when there are too many, else the
//         database's errors: then they are asked as long as this agent lives. Withdraw. Began, of
//         providers.
// Rules:  who registers anew what may be pending withdraws it first: a deregistration that is asked
//         already comes before the registration, and none follows it.
// Parent: client, restart: what is pending outlives a crash.
// Ends:   by the parent's exit message; what is still owed the next agent finds in the database.
#pragma once

#include <memory>
#include <vector>

#include "actors/client/tools/client_db.hpp"
#include "actors/core/actor.hpp"
#include "actors/roles/service_providers.hpp"

namespace nomad::client {

namespace pending_deregistrations {

struct Keep {
  using is_message = void;
  PendingDeregistration pending;
};

/// These are wanted again, whether they are owed or not. Answered with those that were.
struct Withdraw {
  using is_message = void;
  PendingDeregistration pending;
};

struct Kept {
  using is_message = void;
};

struct Withdrawn {
  using is_message = void;
  std::vector<std::string> ids;
};

/// Of a provider and an allocation, in memory at once. A provider that never comes back keeps its
/// rows until then.
inline constexpr std::size_t most = 4096;

}  // namespace pending_deregistrations

using PendingDeregistrations
    = actor::Interface<pending_deregistrations::Kept(pending_deregistrations::Keep),
                       pending_deregistrations::Withdrawn(pending_deregistrations::Withdraw),
                       void(service_provider::Began)>;

struct PendingDeregistrationsOptions {
  ClientDb db;
  std::shared_ptr<ServiceProviders> providers;  ///< Never null.
  std::vector<PendingDeregistration> owed{};    ///< That the last agent has left.
};

PendingDeregistrations spawn_pending_deregistrations(const actor::Owner& owner,
                                                     PendingDeregistrationsOptions options);

}  // namespace nomad::client
