// Rendering the templates of one task: from what the job says and what is known of the cluster to
// files in the task's directory. It reads and writes files, so it runs on the step runner.
//
// Nothing outside of the task's directory and the one that its group shares is read or written,
// whatever links tasks make there, unless the client's configuration takes the sandbox away.
// Everything is bounded: sources, files that are read, what a template may take and give.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/hooks/hook.hpp"
#include "actors/client/templates/data_watcher.hpp"
#include "actors/client/templates/template_settings.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "runtime/host/file_changes.hpp"
#include "runtime/workload/task_env.hpp"
#include "runtime/workload/templates/task_templates.hpp"

namespace nomad::client {

/// Of a source, and of a file that `file` reads.
inline constexpr std::size_t max_template_source = 16 * 1024 * 1024;
/// Of a text that a template gives.
inline constexpr std::size_t max_template_output = 16 * 1024 * 1024;

/// Time of a processor that one rendering may take, and what it may do (base/work.hpp).
inline constexpr std::chrono::seconds max_rendering_time{10};
inline constexpr std::uint64_t max_rendering_work = std::uint64_t{4} << 30U;

/// Files of one template whose changes are followed; more are read when it is rendered, no less.
inline constexpr std::size_t max_followed_files = 64;

/// Where a template's text goes, and what it is made of if it is not in the job.
struct TemplateDestination {
  std::string root;  ///< The directory that it does not leave.
  std::string path;  ///< Below it.
  std::optional<std::string> source{};

  std::string whole() const { return root + '/' + path; }
};

using TemplateDestinations = std::vector<TemplateDestination>;

/// The task's templates; empty if it has none.
capnp::List<schema::Template>::Reader templates_of(const HookScope& scope);

/// What they say, within the bounds of the client's configuration.
std::vector<workload::TemplateTerms> terms_of(capnp::List<schema::Template>::Reader templates,
                                              const TemplateSettings& settings);

/// Finds the places of all templates, and reads their sources, once: a task that changes its own
/// source changes nothing before the next time. Fails in Nomad's words for what leaves the task's
/// directories, and for sources that can't be read.
Result<TemplateDestinations> place_templates(const HookScope& scope,
                                             const workload::TaskEnv& env,
                                             const TemplateSettings& settings);

/// Whether a function that reads the task's environment may be called. Such a call has "env" in its
/// name, and a name is always spelled out.
bool reads_environment(capnp::List<schema::Template>::Reader templates,
                       const TemplateDestinations& locations);

struct RenderOrder {
  HookScope scope;
  EnvironmentsRef environments;  ///< The task's is read; null: none.
  std::shared_ptr<const TemplateSettings> settings;
  std::shared_ptr<const TemplateDestinations> locations;
  std::vector<std::size_t> which;
  std::map<templates::ClusterQuery, ClusterDataPtr> known;
  std::string region;
  std::int64_t unix_now = 0;
  std::stop_token stopped;
  bool notes_changes = false;            ///< The task is to be told of what is written.
  std::set<std::size_t> unsettled = {};  ///< Of what it is still to be told (unsettled.hpp).
};

struct RenderResult {
  std::vector<workload::TemplateRendering> done;
  /// Variables of those with `env = true` that are whole, by their locations.
  std::map<std::size_t, workload::Variables> environments;
  /// What `file` has read for each of `done`, by their places; nothing for those that read none.
  std::map<std::size_t, std::vector<host::SeenFile>> files;
  bool noted = false;  ///< There is a note of what the task is still to be told.
};

/// Renders each of `which` that `result` has not, and writes those that are whole and have another
/// text than their file. False: the turn was too short for all of them, and another one goes on
/// with the same `result`. An error is a sentence for users: "Template failed: …".
Result<bool> render_templates(const RenderOrder& order,
                              const blocking::Turn& turn,
                              RenderResult& result);

}  // namespace nomad::client
