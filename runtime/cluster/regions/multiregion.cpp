#include "runtime/cluster/regions/multiregion.hpp"

#include <algorithm>

#include "runtime/base/ids.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/object/flat_json.hpp"
#include "runtime/object/job_kind.hpp"

namespace nomad::cluster {
namespace {

using schema::DeploymentState;

const JsonNode* member(const JsonNode& object, std::string_view name) {
  if (!object.is(JsonKind::object)) return nullptr;
  for (const auto [key, value] : object.members())
    if (key == name) return &value;
  return nullptr;
}

std::string text_in(const JsonNode& object, std::string_view name) {
  const auto* found = member(object, name);
  return found == nullptr ? std::string{} : std::string{found->text()};
}

std::int64_t number_in(const JsonNode& object, std::string_view name) {
  const auto* found = member(object, name);
  return found == nullptr ? 0 : found->whole<std::int64_t>().value_or(0);
}

RegionBlock read_region(const JsonNode& node) {
  RegionBlock region{.name = text_in(node, "Name"),
                     .count = number_in(node, "Count"),
                     .datacenters = {},
                     .node_pool = text_in(node, "NodePool"),
                     .meta = {}};
  if (const auto* names = member(node, "Datacenters"); names && names->is(JsonKind::array))
    for (const auto& name : names->elements())
      region.datacenters.emplace_back(name.text());
  if (const auto* meta = member(node, "Meta"); meta && meta->is(JsonKind::object))
    for (const auto [key, value] : meta->members())
      region.meta.emplace(key, value.text());
  return region;
}

bool is_in(const RegionState& region, std::initializer_list<DeploymentState> states) {
  return region.status && std::find(states.begin(), states.end(), *region.status) != states.end();
}

bool is_over(const RegionState& region) {
  return is_in(region,
               {DeploymentState::SUCCESSFUL, DeploymentState::FAILED, DeploymentState::CANCELLED});
}

/// Those that a failure takes along.
std::vector<RegionMove> failures(const MultiregionBlock& block,
                                 const std::vector<RegionState>& regions) {
  std::vector<RegionMove> moves;
  if (block.on_failure == "fail_local") return moves;
  bool failed_before = block.on_failure == "fail_all"
                       && std::any_of(regions.begin(), regions.end(), [](const auto& region) {
                            return is_in(region, {DeploymentState::FAILED});
                          });
  for (const auto& region : regions) {
    if (is_in(region, {DeploymentState::FAILED}))
      failed_before = true;
    else if (failed_before && region.status && !is_over(region)
             && !is_in(region, {DeploymentState::INITIALIZING}))
      moves.push_back(
          {region.region, DeploymentState::FAILED, "Failed because of an error in peer region"});
  }
  return moves;
}

/// Those whose turn has come.
std::vector<RegionMove> starts(const MultiregionBlock& block,
                               const std::vector<RegionState>& regions) {
  std::int64_t under_way
      = std::count_if(regions.begin(), regions.end(), [](const RegionState& region) {
          return is_in(region, {DeploymentState::RUNNING, DeploymentState::PAUSED});
        });
  std::vector<RegionMove> moves;
  for (const auto& region : regions) {
    // In the order of the block: one that is not ready to start holds up those behind it.
    if (is_in(region, {DeploymentState::INITIALIZING})) break;
    if (!is_in(region, {DeploymentState::PENDING})) continue;
    if (block.max_parallel > 0 && under_way >= block.max_parallel) break;
    ++under_way;
    moves.push_back({region.region, DeploymentState::RUNNING, "Deployment is running"});
  }
  return moves;
}

/// All are complete: the last one says so, and the others are done.
std::vector<RegionMove> completions(const std::vector<RegionState>& regions) {
  std::vector<RegionMove> moves;
  const bool all_complete
      = std::all_of(regions.begin(), regions.end(), [](const RegionState& region) {
          return is_in(region, {DeploymentState::BLOCKED, DeploymentState::UNBLOCKING,
                                DeploymentState::SUCCESSFUL});
        });
  if (!all_complete) return moves;
  const bool is_announced
      = std::any_of(regions.begin(), regions.end(), [](const RegionState& region) {
          return is_in(region, {DeploymentState::UNBLOCKING, DeploymentState::SUCCESSFUL});
        });
  if (!is_announced) {
    moves.push_back({regions.back().region, DeploymentState::UNBLOCKING,
                     "Deployment is unblocking remaining regions"});
    return moves;
  }
  // Who unblocks the others is done last.
  const auto finish = [&](DeploymentState from) {
    for (const auto& region : regions)
      if (is_in(region, {from}))
        moves.push_back(
            {region.region, DeploymentState::SUCCESSFUL, "Deployment completed successfully"});
  };
  finish(DeploymentState::BLOCKED);
  if (moves.empty()) finish(DeploymentState::UNBLOCKING);
  return moves;
}

}  // namespace

Result<MultiregionBlock> multiregion_of(schema::Job::Reader job) {
  MultiregionBlock block;
  if (job.getMultiregion().size() == 0) return block;
  const auto json = NOMAD_TRY(FlatJson::read(view(job.getMultiregion())));
  if (const auto* strategy = member(json.root(), "Strategy")) {
    block.max_parallel = number_in(*strategy, "MaxParallel");
    block.on_failure = text_in(*strategy, "OnFailure");
  }
  if (const auto* regions = member(json.root(), "Regions"); regions && regions->is(JsonKind::array))
    for (const auto& region : regions->elements())
      block.regions.push_back(read_region(region));
  return block;
}

Object<schema::Job> region_copy(const Object<schema::Job>& job, const RegionBlock& region) {
  Draft<schema::Job> draft{job};
  draft->setRegion(region.name);
  for (auto group : draft->getTaskGroups())
    if (group.getCount() == 0) group.setCount(region.count);
  if (!region.datacenters.empty()) {
    auto names = draft->initDatacenters(static_cast<unsigned>(region.datacenters.size()));
    for (unsigned i = 0; i < names.size(); ++i)
      names.set(i, region.datacenters[i]);
  }
  if (!region.node_pool.empty()) draft->setNodePool(region.node_pool);
  auto meta = region.meta;
  read_entries(job->getMeta(), meta);
  if (!meta.empty()) fill_entries(draft->initMeta(static_cast<unsigned>(meta.size())), meta);
  return draft.freeze();
}

std::vector<std::string> dropped_regions(const MultiregionBlock& before,
                                         const MultiregionBlock& now) {
  std::vector<std::string> dropped;
  for (const auto& region : before.regions)
    if (std::none_of(now.regions.begin(), now.regions.end(),
                     [&](const auto& kept) { return kept.name == region.name; }))
      dropped.push_back(region.name);
  return dropped;
}

bool has_deployments(schema::Job::Reader job) {
  return view(job.getType()) == "service" && !job.hasPeriodic() && !is_parameterized(job);
}

Object<schema::Deployment> first_deployment(schema::Job::Reader job,
                                            std::int64_t eval_priority,
                                            Random& random) {
  if (!has_deployments(job)) return {};
  const auto block = multiregion_of(job);
  if (!block || block->regions.empty()) return {};
  Draft<schema::Deployment> draft;
  draft->setId(make_uuid(random));
  draft->setNamespace(job.getNamespace());
  draft->setJobId(job.getId());
  draft->setIsMultiregion(true);
  draft->setStatus(DeploymentState::INITIALIZING);
  draft->setStatusDescription("Deployment is pending, waiting for peer region");
  draft->setEvalPriority(eval_priority == 0 ? job.getPriority() : eval_priority);
  return draft.freeze();
}

std::vector<RegionMove> next_moves(const MultiregionBlock& block,
                                   const std::vector<RegionState>& regions) {
  if (regions.empty()) return {};
  if (auto failed = failures(block, regions); !failed.empty()) return failed;
  const bool all_accepted = std::all_of(
      regions.begin(), regions.end(), [](const auto& region) { return region.status.has_value(); });
  if (!all_accepted) return {};
  if (auto done = completions(regions); !done.empty()) return done;
  return starts(block, regions);
}

}  // namespace nomad::cluster
