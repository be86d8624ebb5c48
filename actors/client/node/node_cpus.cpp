#include "actors/client/node/node_cpus.hpp"

#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {

void NodeCpus::begin() {
  begun_ = true;
  write();
}

void NodeCpus::set_reservable(const std::vector<std::uint16_t>& cores) {
  sets_.set_reservable(cores);
  write();
}

void NodeCpus::hold(AllocView alloc) {
  sets_.hold(std::string{alloc.id()}, workload::reserved_cores(alloc));
  write();
}

void NodeCpus::release(const std::string& alloc_id) {
  sets_.release(alloc_id);
  write();
}

void NodeCpus::write() {
  if (!begun_ || under_way_ || !parts_.share) return;
  auto cpus = sets_.shared();
  if (cpus.empty() || cpus == told_) return;
  under_way_ = true;
  told_ = cpus;
  const auto run = [share = parts_.share, parent = parts_.cgroup_parent, cpus = std::move(cpus)] {
    return share(parent, cpus);
  };
  self_->request(parts_.steps, actor::infinite, blocking::make(run))
      .then([this](blocking::Outcome&) { written({}); },
            [this](const Error& err) { written(err); });
}

void NodeCpus::written(const Result<>& outcome) {
  under_way_ = false;
  if (!outcome && !warned_)
    log::warn("client", "tasks can't be held to their cores, and may run on all",
              {{"error", outcome.error()}});
  warned_ = !outcome;
  write();
  if (!outcome && !under_way_) told_.clear();  // Tried again with the next change.
}

}  // namespace nomad::client
