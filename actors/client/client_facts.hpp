// ClientFacts: what the parts of the client know of it: NodeAllocs reads them, ServerContact draws
// its chance from them besides. All of them in the client's own turns.
#pragma once

#include "actors/client/client.hpp"
#include "actors/client/context.hpp"
#include "actors/client/fingerprint/node_builder.hpp"
#include "actors/core/actor.hpp"
#include "runtime/base/random.hpp"

namespace nomad::client {

/// Timers. A counter tells the latest one of its kind from stale ones.
namespace client_timer {

struct RegisterDue {
  using is_message = void;
  std::uint64_t round;
};

struct HeartbeatDue {
  using is_message = void;
  std::uint64_t round;
};

struct WatchDue {
  using is_message = void;
};

struct StopLook {
  using is_message = void;
  std::uint64_t round;
};

/// Whether allocations that have ended are to be removed for want of disk, and networks be taken
/// down that are left of some.
struct CollectDue {
  using is_message = void;
};

struct FingerprintDue {
  using is_message = void;
  std::uint64_t round;
  std::size_t place;  ///< Of the fingerprinter among the selected ones.
};

struct EventsDue {
  using is_message = void;
  std::uint64_t round;
};

struct DiskDue {
  using is_message = void;
};

}  // namespace client_timer

using ClientSelf = actor::WithInternal<Client,
                                       void(alloc_runner::Status),
                                       alloc_runner::Ended(alloc_runner::AwaitEnd),
                                       void(sync::Reported),
                                       void(driver_manager::Changed),
                                       void(client_timer::StopLook),
                                       void(client_timer::RegisterDue),
                                       void(client_timer::HeartbeatDue),
                                       void(client_timer::WatchDue),
                                       void(client_timer::CollectDue),
                                       void(client_timer::FingerprintDue),
                                       void(client_timer::EventsDue),
                                       void(client_timer::DiskDue)>;

struct ClientFacts {
  ClientOptions options;
  ClientParts parts;
  Random random{0};
  NodeIdentity identity;
  Object<schema::Node> node;                      ///< As it is registered next.
  std::shared_ptr<ReportNumbers> report_numbers;  ///< From the client's start.
  Context context;  ///< For the runners that come; from the client's start.
  bool stopping = false;
};

}  // namespace nomad::client
