// SimulatedRunner: an alloc runner without tasks. It has the servers sign the identities that its
// tasks show, as a start waits for them, and forgets them. It reports that the allocation runs,
// that it is healthy, some events in between, and at last that it is complete or has failed, as a
// plan says. What a plan leaves to chance is drawn from the seed of the client's context.
//
// Owns:   the allocation's pretended state.
// Takes:  what every alloc runner takes (actors/client/runner.hpp).
// Parent: client, report: the allocation fails.
// Ends:   after Destroy or Detach, or by the parent's exit message.
#pragma once

#include <chrono>

#include "actors/client/runner.hpp"
#include "actors/client/tools/identity_signer.hpp"

namespace nomad::nodesim {

struct RunPlan {
  std::chrono::milliseconds start_time{0};         ///< From Begin until it runs.
  std::chrono::milliseconds run_spread{0};         ///< At random so much longer at most.
  std::chrono::milliseconds run_time{0};           ///< Until it ends; 0: when it is stopped.
  double fail_rate = 0;                            ///< Of those that end by themselves, 0 to 1.
  std::chrono::milliseconds healthy_after{1'000};  ///< Reported once the job wants to know.
  std::chrono::milliseconds event_interval{0};  ///< A task event that changes no status; 0: none.
};

/// `signer`: null where tasks have no identities. What it refuses fails the allocation; while it
/// can't be asked, the start waits.
client::AllocRunner spawn_simulated_runner(const actor::Owner& owner,
                                           client::AllocSetup setup,
                                           RunPlan plan,
                                           client::IdentitySigner signer = {});

}  // namespace nomad::nodesim
