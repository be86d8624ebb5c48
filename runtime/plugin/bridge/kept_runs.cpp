#include "runtime/plugin/bridge/kept_runs.hpp"

#include <algorithm>

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/files/bounded.hpp"
#include "runtime/base/files/replace_file.hpp"
#include "runtime/plugin/bridge/log_collectors.hpp"

namespace nomad::plugin::bridge {
namespace {

constexpr std::uintmax_t greatest_run = 1 << 20;

std::optional<drivers::KeptRun> read_file(const std::string& path) {
  const auto bytes = read_whole_file(path, greatest_run);
  if (!bytes) return std::nullopt;
  return read_run(*bytes);
}

}  // namespace

std::string write_run(const drivers::KeptRun& run) {
  auto written = run;
  auto& config = *written.mutable_handle()->mutable_config();
  config.clear_env();
  config.clear_device_env();
  return written.SerializeAsString();
}

std::optional<drivers::KeptRun> read_run(std::string_view bytes) {
  drivers::KeptRun run;
  if (!run.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || run.run_id().empty()
      || run.handle().config().id().empty())
    return std::nullopt;
  return run;
}

KeptRuns::KeptRuns(std::string directory) : directory_{std::move(directory)} {
  ::mkdir(directory_.c_str(), 0700);  // a failure shows where a file is written
}

std::string KeptRuns::path(const TaskId& id) const {
  return fmt::format("{}/{}.{}", directory_, file_name(id.alloc_id), file_name(id.task));
}

Result<> KeptRuns::put(const TaskId& id, const drivers::KeptRun& run) const {
  return replace_file(path(id), write_run(run), Durability::of_process);
}

std::optional<drivers::KeptRun> KeptRuns::find(const TaskId& id) const {
  return read_file(path(id));
}

void KeptRuns::forget(const TaskId& id) const {
  ::unlink(path(id).c_str());
}

std::vector<std::pair<TaskId, drivers::KeptRun>> KeptRuns::all() const {
  std::vector<std::pair<TaskId, drivers::KeptRun>> found;
  for (const auto& name : names_in(directory_).value_or(std::vector<std::string>{})) {
    // A run's name has one dot; what was being written when a process died has more.
    if (std::ranges::count(name, '.') != 1) continue;
    auto run = read_file(directory_ + '/' + name);
    if (!run) continue;
    const auto& config = run->handle().config();
    TaskId id{config.alloc_id(), config.name()};
    found.emplace_back(std::move(id), std::move(*run));
  }
  return found;
}

}  // namespace nomad::plugin::bridge
