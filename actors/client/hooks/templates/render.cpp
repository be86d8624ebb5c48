#include "actors/client/hooks/templates/render.hpp"

#include <algorithm>
#include <charconv>

#include <sys/random.h>

#include <fmt/format.h>

#include "actors/client/hooks/templates/unsettled.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/threads/processor_time.hpp"
#include "runtime/config/address_template.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/template/change/environment_file.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::client {
namespace {

using templates::ClusterQuery;
using workload::Variables;

constexpr mode_t directory_mode = 0755;

std::string directory_of_task(const HookScope& scope) {
  return copy(scope.target->getAllocRoot()) + '/' + copy(scope.target->getTask());
}

/// Whether `path` is `directory` or below it; then what is behind that is left.
bool enter_directory(const std::string& directory, std::string_view& path) {
  if (!path.starts_with(directory)) return false;
  if (path.size() > directory.size() && path[directory.size()] != '/') return false;
  path.remove_prefix(std::min(path.size(), directory.size() + 1));
  return true;
}

/// The directory of the task's or its group's that `path` is in, or all of the host's.
TemplateDestination location_of(const HookScope& scope, std::string_view path) {
  for (const auto& root : {directory_of_task(scope), copy(scope.target->getAllocRoot()) + "/alloc"})
    if (auto rest = path; enter_directory(root, rest))
      return {.root = root, .path = std::string{rest}};
  return {.root = "/", .path = std::string{path.substr(std::min<std::size_t>(path.size(), 1))}};
}

Result<std::string> read_source(const TemplateDestination& location) {
  const auto root = NOMAD_TRY(host::Beneath::open(location.root, false));
  auto text = NOMAD_TRY(root.read_at(location.path, 0, max_template_source + 1));
  if (text.size() > max_template_source)
    return Error{Errc::too_large,
                 fmt::format("{} has more than {} bytes", location.whole(), max_template_source)};
  return text;
}

Result<TemplateDestination> place_template(const HookScope& scope,
                                           const workload::TaskEnv& env,
                                           const TemplateSettings& settings,
                                           schema::Template::Reader of) {
  std::optional<std::string> source;
  if (of.getSourcePath().size() > 0) {
    const auto from = env.client_path(view(of.getSourcePath()), false);
    if (from.escapes && settings.file_sandbox)
      return Error{Errc::rejected, "template source path escapes alloc directory"};
    auto text = read_source(location_of(scope, from.path));
    if (!text) return text.error().within("failed to read template");
    source = std::move(*text);
  }
  const auto to = env.client_path(view(of.getDestPath()), true);
  if (to.escapes && settings.file_sandbox)
    return Error{Errc::rejected, "template destination path escapes alloc directory"};
  auto location = location_of(scope, to.path);
  location.source = std::move(source);
  return location;
}

/// What a template is told while it is rendered.
class TaskSources : public templates::Sources {
public:
  explicit TaskSources(const RenderOrder& order)
      : order_{order}, name_space_{view(order.scope.job->getNamespace())} {}

  std::optional<std::vector<templates::ServiceName>> services(
      const templates::ServicesQuery& query) override {
    const auto* data = known(query);
    return data == nullptr ? std::nullopt : std::optional{data->names};
  }

  std::optional<std::vector<templates::ServiceInstance>> service(
      const templates::ServiceQuery& query) override {
    const auto* data = known(query);
    return data == nullptr ? std::nullopt : std::optional{data->instances};
  }

  std::optional<std::optional<templates::Variable>> variable(
      const templates::VariableQuery& query) override {
    const auto* data = known(query);
    if (data == nullptr) return std::nullopt;
    return std::optional<std::optional<templates::Variable>>{std::in_place, data->variable};
  }

  std::optional<std::vector<templates::VariableMeta>> variables(
      const templates::VariableListQuery& query) override {
    const auto* data = known(query);
    return data == nullptr ? std::nullopt : std::optional{data->metas};
  }

  Result<std::optional<std::string>> file(const templates::FileQuery& query) override {
    auto location = TemplateDestination{.root = "/", .path = query.path};
    if (order_.settings->file_sandbox || !query.path.starts_with('/')) {
      std::string_view path = query.path;
      const auto root = directory_of_task(order_.scope);
      enter_directory(root, path);
      location = {.root = root, .path = std::string{path}};
    }
    see(location);
    auto text = read_source(location);
    if (!text && text.error().code == Errc::rejected)
      return Error{Errc::rejected, fmt::format("'{}' is outside of sandbox", query.path)};
    if (!text) return text.error();
    return std::optional{std::move(*text)};
  }

  /// Also what `${…}` may name of the node: `env "attr.cpu.numcores"`, `env "meta.rack"`.
  std::optional<std::string> environment(std::string_view name) override {
    if (!order_.environments) return std::nullopt;
    const auto& env = order_.environments->own;
    for (const auto* all : {&env.node(), &env.variables()})
      if (const auto found = all->find(name); found != all->end()) return found->second;
    return std::nullopt;
  }

  std::int64_t now() override { return order_.unix_now; }

  Result<std::string> address(std::string_view text) override {
    return config::expand_address(text, config::LocalAddresses::read());
  }

  std::string random(std::size_t bytes) override {
    std::string drawn(bytes, '\0');
    for (std::size_t have = 0; have < bytes;) {
      const auto got
          = ::getrandom(drawn.data() + have, std::min<std::size_t>(bytes - have, 256), 0);
      if (got > 0) have += static_cast<std::size_t>(got);
    }
    return drawn;
  }

  std::vector<host::SeenFile> take_files() { return std::move(files_); }

private:
  /// Before it is read. What can't be read is told by who reads.
  void see(const TemplateDestination& location) {
    if (files_.size() == max_followed_files) return;
    const auto root = host::Beneath::open(location.root, false);
    const auto mark = root ? host::FileMark::of(*root, location.path) : root.error();
    if (mark) files_.push_back({location.root, location.path, *mark});
  }

  const ClusterData* known(const templates::Query& query) const {
    const auto asked = templates::cluster_query(query, name_space_);
    const auto found = asked ? order_.known.find(*asked) : order_.known.end();
    return found == order_.known.end() ? nullptr : &*found->second;
  }

  const RenderOrder& order_;
  std::string_view name_space_;
  std::vector<host::SeenFile> files_;
};

Error template_failed(const Error& why) {
  return why.within("Template failed");
}

/// What a rendering has asked of the cluster. Other regions can't be asked yet.
Result<std::vector<ClusterQuery>> asked_of_cluster(const templates::Dependencies& dependencies,
                                                   const RenderOrder& order) {
  std::vector<ClusterQuery> queries;
  for (const auto& [query, answered] : dependencies.asked) {
    const auto region = templates::region_of(query);
    if (!region.empty() && region != order.region)
      return Error{Errc::rejected,
                   fmt::format("{}: templates can read of their own region (\"{}\") alone",
                               to_string(query), order.region)};
    if (auto asked = templates::cluster_query(query, view(order.scope.job->getNamespace())))
      queries.push_back(std::move(*asked));
  }
  return queries;
}

Result<templates::TaskTemplate> parse_template(schema::Template::Reader of,
                                               const TemplateDestination& location,
                                               const RenderOrder& order) {
  return templates::TaskTemplate::parse(
      location.source ? *location.source : copy(of.getEmbeddedTmpl()), order.settings->functions,
      {.delimiters = {.left = copy(of.getLeftDelim()), .right = copy(of.getRightDelim())},
       .errors_on_missing_key = of.getErrMissingKey(),
       .name_space = copy(order.scope.job->getNamespace())});
}

mode_t file_mode_of(schema::Template::Reader of) {
  unsigned mode = 0644;
  const auto perms = view(of.getPerms());
  std::from_chars(perms.data(), perms.data() + perms.size(), mode, 8);  // Checked with the job.
  return static_cast<mode_t>(mode & 07777);
}

host::FileOwner file_owner_of(schema::Template::Reader of) {
  host::FileOwner owner;
  if (of.getUid().isValue() && of.getUid().getValue() >= 0)
    owner.user = static_cast<uid_t>(of.getUid().getValue());
  if (of.getGid().isValue() && of.getGid().getValue() >= 0)
    owner.group = static_cast<gid_t>(of.getGid().getValue());
  return owner;
}

/// Before the file is another one: the agent may die in between. Without a note the task hears of
/// it none the less, unless that happens.
void note_change(const RenderOrder& order,
                 std::size_t index,
                 schema::Template::Reader of,
                 RenderResult& into) {
  if (!order.notes_changes || view(of.getChangeMode()) == "noop") return;
  auto which = order.unsettled;
  for (const auto& done : into.done)
    if (done.written) which.insert(done.index);
  which.insert(index);
  if (const auto noted = note_unsettled(order.scope, which); !noted)
    log::warn("client", "a change of a template is not noted",
              {{"alloc", view(order.scope.target->getAllocId())},
               {"task", view(order.scope.target->getTask())},
               {"error", noted.error()}});
  into.noted = true;
}

/// Whether the file had another text.
Result<bool> write_text(const RenderOrder& order,
                        std::size_t index,
                        schema::Template::Reader of,
                        std::string_view text,
                        RenderResult& into) {
  const auto& location = (*order.locations)[index];
  const auto root = NOMAD_TRY(host::Beneath::open(location.root, false));
  const auto present = root.read_at(location.path, 0, text.size() + 1);
  if (present && *present == text) return false;
  note_change(order, index, of, into);
  const auto slash = location.path.rfind('/');
  if (slash != location.path.npos)
    NOMAD_TRY(root.make_directories(location.path.substr(0, slash), directory_mode));
  NOMAD_TRY(root.write_file(location.path, text, file_mode_of(of), false, file_owner_of(of)));
  return true;
}

Result<Variables> parse_environment(const TemplateDestination& location, std::string_view text) {
  auto variables = templates::parse_environment_file(text);
  if (!variables)
    return Error{Errc::rejected,
                 fmt::format("Template failed to read environment variables: error parsing env "
                             "template \"{}\": {}",
                             location.whole(), variables.error().what)};
  return Variables{variables->begin(), variables->end()};
}

/// How long the templates of an order may be rendered, and whether anybody waits for them.
class RenderingEnd {
public:
  RenderingEnd(const RenderOrder& order, const blocking::Turn& turn)
      : order_{order},
        turn_{turn},
        end_{processor_time()
             + std::min<std::chrono::nanoseconds>(turn.most.value_or(max_rendering_time),
                                                  max_rendering_time)} {}

  bool has_come() const { return processor_time() >= end_; }

  Result<> look() const {
    if (order_.stopped.stop_requested() || turn_.stopped.stop_requested())
      return Error{Errc::cancelled, "cancelled"};
    if (!has_come()) return {};
    return Error{Errc::too_large,
                 fmt::format("the templates take longer than {}s", max_rendering_time.count())};
  }

  templates::Limits limits() const {
    return {.output = max_template_output,
            .made = 4 * max_template_output,
            .work = max_rendering_work,
            .look = [this] { return look(); }};
  }

private:
  const RenderOrder& order_;
  const blocking::Turn& turn_;
  std::chrono::nanoseconds end_;
};

Result<> render_one(const RenderOrder& order,
                    std::size_t index,
                    schema::Template::Reader of,
                    const RenderingEnd& end,
                    RenderResult& into) {
  const auto& location = (*order.locations)[index];
  const auto parsed = parse_template(of, location, order);
  if (!parsed) return template_failed(parsed.error());
  TaskSources sources{order};
  auto text = parsed->render(sources, end.limits());
  if (!text) return template_failed(text.error());
  auto asked = asked_of_cluster(text->dependencies, order);
  if (!asked) return template_failed(asked.error());
  workload::TemplateRendering done{.index = index,
                                   .asked = std::move(*asked),
                                   .missing = text->dependencies.missing(),
                                   .awaited = text->dependencies.awaited_variable(),
                                   .written = false};
  if (order.stopped.stop_requested()) return Error{Errc::cancelled, "cancelled"};
  if (done.missing.empty()) {
    if (of.getEnvvars())
      into.environments[index] = NOMAD_TRY(parse_environment(location, text->text));
    auto written = write_text(order, index, of, text->text, into);
    if (!written) return template_failed(written.error());
    done.written = *written;
  }
  into.done.push_back(std::move(done));
  if (auto files = sources.take_files(); !files.empty()) into.files[index] = std::move(files);
  return {};
}

}  // namespace

capnp::List<schema::Template>::Reader templates_of(const HookScope& scope) {
  const auto task = workload::find_task(*scope.alloc, *scope.job, view(scope.target->getTask()));
  if (!task) return {};
  return task->getTemplates();
}

std::vector<workload::TemplateTerms> terms_of(capnp::List<schema::Template>::Reader templates,
                                              const TemplateSettings& settings) {
  using templates::ChangeMode;
  std::vector<workload::TemplateTerms> all;
  for (const auto of : templates) {
    workload::TemplateTerms terms{.rule = {.splay = Nanoseconds{of.getSplay()}},
                                  .wait_min = settings.wait_min,
                                  .wait_max = settings.wait_max,
                                  .once = of.getOnce()};
    const auto mode = view(of.getChangeMode());
    terms.rule.mode = mode == "signal"   ? ChangeMode::signal
                      : mode == "script" ? ChangeMode::script
                      : mode == "noop"   ? ChangeMode::noop
                                         : ChangeMode::restart;
    terms.rule.signal = copy(of.getChangeSignal());
    if (of.hasChangeScript()) {
      const auto script = of.getChangeScript();
      terms.rule.script = {.command = copy(script.getCommand()),
                           .timeout = Nanoseconds{script.getTimeout()},
                           .fails_task = script.getFailOnError(),
                           .runs_first = script.getRunOnFirstRender()};
      for (const auto argument : script.getArgs())
        terms.rule.script.arguments.push_back(copy(argument));
    }
    if (of.hasWait()) {
      const auto wait = of.getWait();
      terms.wait_min = Nanoseconds{wait.getMin().isValue() ? wait.getMin().getValue() : 0};
      terms.wait_max
          = wait.getMax().isValue() ? Nanoseconds{wait.getMax().getValue()} : 4 * terms.wait_min;
      terms.wait_min = std::max(terms.wait_min, settings.wait_bound_min);
      if (settings.wait_bound_max.count() > 0)
        terms.wait_max = std::min(terms.wait_max, settings.wait_bound_max);
    }
    all.push_back(std::move(terms));
  }
  return all;
}

Result<TemplateDestinations> place_templates(const HookScope& scope,
                                             const workload::TaskEnv& env,
                                             const TemplateSettings& settings) {
  TemplateDestinations locations;
  for (const auto of : templates_of(scope))
    locations.push_back(NOMAD_TRY(place_template(scope, env, settings, of)));
  return locations;
}

bool reads_environment(capnp::List<schema::Template>::Reader templates,
                       const TemplateDestinations& locations) {
  for (unsigned i = 0; i < templates.size() && i < locations.size(); ++i) {
    const auto& source = locations[i].source;
    const auto text = source ? std::string_view{*source} : view(templates[i].getEmbeddedTmpl());
    if (text.find("env") != text.npos || text.find("Env") != text.npos) return true;
  }
  return false;
}

Result<bool> render_templates(const RenderOrder& order,
                              const blocking::Turn& turn,
                              RenderResult& result) {
  const auto all = templates_of(order.scope);
  const RenderingEnd end{order, turn};
  for (const auto index : order.which) {
    if (index >= all.size() || index >= order.locations->size())
      continue;  // The job is another one.
    if (std::ranges::find(result.done, index, &workload::TemplateRendering::index)
        != result.done.end())
      continue;  // In an earlier turn.
    if (turn.most && end.has_come()) return false;
    NOMAD_TRY(end.look());
    const auto rendered = render_one(order, index, all[static_cast<unsigned>(index)], end, result);
    if (!rendered && rendered.error().code != Errc::cancelled && turn.most && end.has_come())
      return false;
    NOMAD_TRY(rendered);
  }
  return true;
}

}  // namespace nomad::client
