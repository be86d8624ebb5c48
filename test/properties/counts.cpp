#include "test/properties/counts.hpp"

#include <algorithm>

namespace nomad::properties {
namespace {

constexpr CountName all_counts[] = {
    {"steps", &Counts::steps},
    {"evaluations", &Counts::evaluations},
    {"evaluations of one case while it came to rest, at most", &Counts::most_evaluations},
    {"decisions made again", &Counts::decided_again},
    {"allocations placed", &Counts::placements},
    {"  of batch jobs", &Counts::batch},
    {"  of system jobs", &Counts::system},
    {"  of sysbatch jobs", &Counts::sysbatch},
    {"  canaries", &Counts::canaries},
    {"  of an older version while canaries run", &Counts::older_versions},
    {"  in place of failed ones", &Counts::rescheduled},
    {"  with static ports", &Counts::static_ports},
    {"  with dynamic ports", &Counts::dynamic_ports},
    {"  with reserved cores", &Counts::cores},
    {"  with devices", &Counts::devices},
    {"  with host volumes", &Counts::volumes},
    {"  under constraints", &Counts::constrained},
    {"  under distinct constraints", &Counts::distinct},
    {"  with a spread", &Counts::spread},
    {"  with an affinity", &Counts::affinity},
    {"plans that are all or nothing", &Counts::all_at_once},
    {"rows updated in place", &Counts::in_place},
    {"  unknown as their client is away", &Counts::unknown},
    {"  back after that", &Counts::reconnected},
    {"replaced by a new version", &Counts::replacements},
    {"lost", &Counts::lost},
    {"migrated", &Counts::migrated},
    {"preempted", &Counts::preempted},
    {"  by system jobs", &Counts::preempted_by_system},
    {"plans verified on a newer state than their own", &Counts::stale_plans},
    {"  with others under way", &Counts::verified_ahead},
    {"nodes' parts of plans rejected", &Counts::rejections},
    {"parts of plans too long for an entry", &Counts::parts},
    {"plans parked until another is settled", &Counts::parked_plans},
    {"plans refused for their evaluation", &Counts::refused_plans},
    {"plans written whose worker was gone", &Counts::orphaned_plans},
    {"plans written to a node that had gone", &Counts::strays, true},
    {"changes of nodes beside which such plans were written", &Counts::latecomers, true},
    {"steps held back for plans under way", &Counts::held_back},
    {"works that failed", &Counts::failed_works},
    {"works lost", &Counts::lost_works},
    {"deliveries that took too long", &Counts::expired_deliveries, true},
    {"evaluations delivered too often", &Counts::too_many_deliveries, true},
    {"evaluations blocked", &Counts::blocked},
    {"evaluations unblocked", &Counts::unblocked},
    {"  at once, as something had grown meanwhile", &Counts::missed_unblocks},
    {"leader changes", &Counts::leader_changes},
    {"leaders that lead again", &Counts::flaps},
    {"promotions by hand", &Counts::promoted},
    {"promotions by themselves", &Counts::promoted_by_itself},
    {"deployments failed by their watcher", &Counts::failed_deployments},
    {"  with a rollback", &Counts::reverted, true},
    {"deployments that succeeded", &Counts::successful_deployments},
    {"drains begun", &Counts::drains},
    {"allocations marked by the drainer", &Counts::drain_marks},
    {"  as a deadline was over", &Counts::forced_marks},
    {"drains completed", &Counts::completed_drains},
    {"drains without capacity elsewhere", &Counts::waiting_drains},
    {"jobs that waited for capacity in the end", &Counts::waiting},
    {"entries of plans refused by the store", &Counts::refused_entries, true},
};

}  // namespace

std::span<const CountName> count_names() {
  return all_counts;
}

void Counts::add(const Counts& other) {
  const auto most = std::max(most_evaluations, other.most_evaluations);
  cases += other.cases;
  for (const auto& each : all_counts)
    this->*each.count += other.*each.count;
  most_evaluations = most;
}

}  // namespace nomad::properties
