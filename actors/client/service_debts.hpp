// ServiceDebts: what providers of services (of plugins) still have to deregister when nobody may be
// left who would ask them: the allocation, or its task, is through, or the agent dies, and the job
// says no more what there was. They are asked until they have done it, by this agent or by the next
// one.
//
// Owns:   the debts, in memory and as rows of the client's database.
// Takes:  Owe, answered when it is written down; `overloaded` when there are too many, else the
//         database's errors: then they are asked as long as this agent lives. Forgive. Began, of
//         providers.
// Rules:  who registers anew what may be owed has it forgiven first: a deregistration that is asked
//         already comes before the registration, and none follows it.
// Parent: client, restart: the debts outlive a crash.
// Ends:   by the parent's exit message; what is still owed the next agent finds in the database.
#pragma once

#include <memory>
#include <vector>

#include "actors/client/client_db.hpp"
#include "actors/core/actor.hpp"
#include "actors/roles/service_providers.hpp"

namespace nomad::client {

namespace service_debts {

struct Owe {
  using is_message = void;
  ServiceDebt debt;
};

/// These are wanted again, whether they are owed or not. Answered with those that were.
struct Forgive {
  using is_message = void;
  ServiceDebt debt;
};

struct Kept {
  using is_message = void;
};

struct Forgiven {
  using is_message = void;
  std::vector<std::string> ids;
};

/// Of a provider and an allocation, in memory at once. A provider that never comes back keeps its
/// rows until then.
inline constexpr std::size_t most = 4096;

}  // namespace service_debts

using ServiceDebts = actor::Interface<service_debts::Kept(service_debts::Owe),
                                      service_debts::Forgiven(service_debts::Forgive),
                                      void(service_provider::Began)>;

struct ServiceDebtsOptions {
  ClientDb db;
  std::shared_ptr<ServiceProviders> providers;  ///< Never null.
  std::vector<ServiceDebt> owed{};              ///< That the last agent has left.
};

ServiceDebts spawn_service_debts(const actor::Owner& owner, ServiceDebtsOptions options);

}  // namespace nomad::client
