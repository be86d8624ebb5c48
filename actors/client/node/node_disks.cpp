#include "actors/client/node/node_disks.hpp"

#include <utility>

#include "runtime/base/log.hpp"
#include "runtime/host/directory_walk.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {
namespace {

using namespace std::chrono_literals;

/// About a millisecond's work, so that the walk takes a hundredth of a processor.
constexpr std::uint64_t entries_at_once = 500;
constexpr auto slice_pause = 100ms;

/// What a step has come to.
struct Slice {
  bool over = false;
  workload::DiskLook found{};  ///< When it is.
};

Result<Slice> look_on(host::DirectoryWalk& walk,
                      const std::string& root,
                      const std::vector<std::string>& folders) {
  const auto over = walk.advance(entries_at_once);
  if (!over && over.error().code == Errc::not_found)
    return Slice{.over = true, .found = {.missing = folders}};
  if (!over) return over.error();
  if (!*over) return Slice{};
  return Slice{.over = true,
               .found = {.bytes = walk.usage().bytes,
                         .complete = walk.usage().complete,
                         .missing = host::missing_folders(root, folders)}};
}

}  // namespace

void NodeDisks::begin() {
  if (!under_way_ && parts_.interval > 0ns) wait(parts_.interval);
}

void NodeDisks::wait(std::chrono::nanoseconds pause) {
  under_way_ = true;
  actor::send_self_after(self_, pause, Due{});
}

void NodeDisks::due() {
  under_way_ = false;
  if (parts_.stopping || parts_.interval <= 0ns) {
    waiting_.clear();
    walk_.reset();
    return;
  }
  if (waiting_.empty()) begin_round();
  if (waiting_.empty())
    wait(parts_.interval);
  else
    look();
}

void NodeDisks::begin_round() {
  parts_.allocs.each_live([this](const NodeAllocs::Live& live) {
    const auto group = workload::find_group(*live.job, live.alloc->task_group());
    if (!live.runner || !group) return;
    Visit visit{.root = parts_.alloc_dir + '/' + std::string{live.alloc->id()},
                .folders = {std::string{workload::shared_folder}},
                .runner = live.runner};
    for (const auto task : group->getTasks())
      for (auto& folder : workload::expected_folders(copy(task.getName())))
        visit.folders.push_back(std::move(folder));
    waiting_.push_back(std::move(visit));
  });
  if (!waiting_.empty()) pause_ = parts_.interval / static_cast<std::int64_t>(waiting_.size());
}

void NodeDisks::look() {
  const auto& visit = waiting_.back();
  if (!walk_) walk_ = std::make_shared<host::DirectoryWalk>(visit.root);
  under_way_ = true;
  const auto run = [walk = walk_, root = visit.root, folders = visit.folders] {
    return look_on(*walk, root, folders);
  };
  self_->request(parts_.steps, actor::infinite, blocking::make(run))
      .then(
          [this](blocking::Outcome& outcome) {
            auto& slice = outcome.as<Slice>();
            if (!slice.over) return wait(slice_pause);
            self_->send(waiting_.back().runner,
                        alloc_runner::DiskLooked{.look = std::move(slice.found),
                                                 .enforce = parts_.enforce});
            walk_.reset();
            waiting_.pop_back();
            wait(pause_);
          },
          [this](const Error& err) {
            log::warn("client", "what an allocation's disk holds is not known",
                      {{"path", waiting_.back().root}, {"error", err}});
            walk_.reset();
            waiting_.pop_back();
            wait(pause_);
          });
}

}  // namespace nomad::client
