#include "actors/plugin/plugin_loader.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "actors/client/hooks/builtin_hooks.hpp"
#include "actors/core/supervise.hpp"
#include "actors/plugin/body/thread_peer.hpp"
#include "actors/plugin/plugin_driver.hpp"
#include "actors/plugin/plugin_hook.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/isolation/system_calls.hpp"
#include "runtime/host/users.hpp"
#include "runtime/jobspec/service_provider.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/plugin/plugin_file.hpp"
#include "runtime/storage/directory.hpp"

namespace nomad::plugin {
namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t memory_of_plugin = 0;  // the shadow counts
#else
constexpr std::uint64_t memory_of_plugin = std::uint64_t{512} << 20;
#endif

/// A plugin of Nomad's is asked what it is by another program, which gives up earlier.
constexpr auto nomad_declaration = 10s;

/// The link answers earlier: what it says of an upgrade is what has come of it.
constexpr auto upgrade_patience = plugin_link::longest_upgrade + 5s;

std::int64_t wall_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// That services of the provider can be registered here, which jobs that name it ask for.
host::NamedFingerprinter provider_fingerprinter(const std::string& provider) {
  return {.name = "service_provider_" + provider,
          .run = [key = jobspec::provider_attribute(provider)](const host::FingerprintOptions&,
                                                               host::NodeFacts& node) -> Result<> {
            node.attributes[key] = "true";
            return {};
          }};
}

host::NamedFingerprinter plugin_fingerprinter(std::string name,
                                              std::chrono::nanoseconds interval,
                                              const std::shared_ptr<PluginFacts>& facts) {
  const auto period = std::chrono::duration_cast<std::chrono::seconds>(interval);
  return {.name = name,
          .run = [name, facts](const host::FingerprintOptions&, host::NodeFacts& node) -> Result<> {
            auto found = facts->get(name);
            for (auto& [key, value] : found.attributes)
              node.attributes[key] = std::move(value);
            node.devices = std::move(found.devices);
            return {};
          },
          // What is not known when the node registers is known soon; to look costs nothing.
          .period = std::clamp(period, 1s, 5s)};
}

std::string directory_of(const config::AgentConfig& config, const std::string& plugin) {
  return fmt::format("{}/plugins/{}", config.data_dir, plugin);
}

std::string directory_of_copies(const config::AgentConfig& config) {
  return directory_of(config, ".files");  // No plugin's name begins so.
}

/// What stands before the file's own path: a plugin of Nomad's speaks by another program.
Result<> add_bridge(ProcessOptions& process,
                    const PluginFile& file,
                    const config::PluginBlock& block,
                    const LoaderPrograms& programs) {
  if (block.confined)
    return Error{Errc::rejected, "confined = true: plugins of Nomad's can't be confined"};
  if (programs.go_plugin.empty())
    return Error{Errc::rejected,
                 "it is a plugin of Nomad's, and nomadctl-go-plugin, which runs such, is not "
                 "installed beside this agent"};
  process.memory_bytes = 0;  // It would hold for the tasks.
  process.arguments.insert(process.arguments.end(),
                           {programs.go_plugin, programs.executor, file.name});
  return {};
}

/// With the directory made and given to its user.
Result<ProcessOptions> process_of(const PluginFile& file,
                                  const config::AgentConfig& config,
                                  const config::PluginBlock& block,
                                  const LoaderPrograms& programs) {
  ProcessOptions process;
  process.program = programs.host;
  process.directory = directory_of(config, file.name);
  process.memory_bytes = memory_of_plugin;
  NOMAD_TRY(storage::make_private_directory(process.directory));
  auto& words = process.arguments;
  if (!block.user.empty()) {
    const auto user = NOMAD_TRY(host::find_user(block.user));
    process.user = fmt::format("{}:{}:{}", user.uid, user.gid, fmt::join(user.groups, ","));
    words.insert(words.end(), {"--user", process.user});
    if (::geteuid() == 0 && ::chown(process.directory.c_str(), user.uid, user.gid) != 0)
      return errno_error("giving away " + process.directory, errno);
  }
  if (block.confined) {
    words.emplace_back("--confine");
    for (const auto& path : block.paths)
      words.insert(words.end(), {"--path", path});
    process.call_filter = NOMAD_TRY(host::make_call_filter({}));
  }
  if (!file.is_library) words.emplace_back("--program");
  if (is_nomad_plugin(file)) NOMAD_TRY(add_bridge(process, file, block, programs));
  if (process.memory_bytes > 0)
    words.insert(words.begin(), {"--memory", std::to_string(process.memory_bytes)});
  words.push_back(file.path);
  words.insert(words.end(), block.args.begin(), block.args.end());
  return process;
}

/// Where the library is that plugins are made with, beside their host's program.
std::vector<std::string> sdk_locations(const std::string& host_program) {
  const auto folder = host_program.substr(0, host_program.rfind('/'));
  std::vector<std::string> locations;
  for (const auto* location : {"sdk", NOMADCTL_LIBDIR})
    locations.push_back(fmt::format("{}/../{}/libnomadctl-plugin.so.1", folder, location));
  return locations;
}

/// How it begins, by what was taken of its file: in a process or on a thread, each time anew.
Result<MakePeer> peer_of(const std::shared_ptr<PluginLoop>& loop,
                         PluginFile file,
                         const std::shared_ptr<const PluginCopy>& copy,
                         const config::AgentConfig& config,
                         const config::PluginBlock& block,
                         const LoaderPrograms& programs) {
  // The program that runs one of Nomad's begins it as the plugin's user, who may have no way to the
  // copy.
  if (block.user.empty() || !is_nomad_plugin(file)) file.path = copy->path();
  auto process = NOMAD_TRY(process_of(file, config, block, programs));
  if (block.isolated)
    return MakePeer{[loop, copy, process = std::move(process)](ProcessEvents events) {
      return std::make_unique<SocketPeer>(loop, process_body(process), std::move(events));
    }};
  LibraryOptions library{file.path, sdk_locations(programs.host)};
  return MakePeer{[name = file.name, copy, library = std::move(library)](ProcessEvents events) {
    return std::make_unique<ThreadPeer>(name, serve_library(library), std::move(events));
  }};
}

/// The file as it is now; an error says why it is not to be started.
Result<std::shared_ptr<const PluginCopy>> take_file(const PluginFile& file,
                                                    const config::AgentConfig& config,
                                                    const config::PluginBlock& settings) {
  const auto refused = [](std::string why) { return Error{Errc::rejected, std::move(why)}; };
  if (!file.refusal.empty()) return refused(file.refusal);
  if (!settings.isolated && !file.is_library)
    return refused("isolated = false: a program runs in a process of its own only");
  if (!settings.isolated && (!settings.user.empty() || settings.confined))
    return refused("isolated = false: a user and what confines it need a process of its own");
  auto copy = NOMAD_TRY(PluginCopy::make(file.path, directory_of_copies(config)));
  // Of the copy, which nobody changes any more.
  if (file.is_library) NOMAD_TRY(check_library(copy->path(), !settings.isolated));
  return copy;
}

/// Puts the token that stands in a file into the block, so that another one makes it another block.
Result<> read_token(const config::AgentConfig& config,
                    const std::string& name,
                    config::PluginBlock& settings) {
  settings.token = NOMAD_TRY(config::token_of(settings));
  if (config.acl.enabled && settings.token.empty() && !settings.api.empty())
    log::warn("plugin",
              "a plugin has an api block without a token: with ACLs on it may do no more than the "
              "anonymous policy allows",
              {{"plugin", name}});
  return {};
}

}  // namespace

Result<client::PluginCatalog> with_plugin(client::PluginCatalog catalog,
                                          schema::plugin::Declaration::Reader declaration,
                                          const PluginLink& link,
                                          const std::shared_ptr<PluginFacts>& facts) {
  for (const auto hook : declaration.getHooks()) {
    auto& hooks = hook.getOfAllocation() ? catalog.hooks.of_allocs : catalog.hooks.of_tasks;
    hooks.push_back(plugin_hook(link, hook));
  }
  NOMAD_TRY(client::all_hooks(catalog, {}));  // As the client will, once it has their parts.
  for (const auto driver : declaration.getDrivers())
    if (!catalog.drivers.emplace(copy(driver), plugin_driver(link)).second)
      return Error{Errc::conflict, fmt::format("there is a driver \"{}\" already", view(driver))};
  for (const auto each : declaration.getFingerprinters()) {
    auto name = copy(each.getName());
    const auto has_name = [&name](const auto& other) { return other.name == name; };
    if (std::ranges::any_of(catalog.fingerprinters, has_name))
      return Error{Errc::conflict, fmt::format("there is a fingerprinter \"{}\" already", name)};
    catalog.fingerprinters.push_back(
        plugin_fingerprinter(std::move(name), std::chrono::nanoseconds{each.getInterval()}, facts));
  }
  for (const auto each : declaration.getServiceProviders())
    catalog.fingerprinters.push_back(provider_fingerprinter(copy(each.getName())));
  return catalog;
}

Result<std::unique_ptr<PluginLoader>> PluginLoader::load(const actor::Owner& owner,
                                                         const LoaderOptions& options) {
  const auto& config = *options.config;
  if (config.plugin_dir.empty()) return std::unique_ptr<PluginLoader>{};
  std::unique_ptr<PluginLoader> loader{new PluginLoader{owner.system(), options}};
  const auto files = NOMAD_TRY(find_plugins(config.plugin_dir));
  const auto copies = directory_of_copies(config);
  NOMAD_TRY(storage::make_directories(
      {{config.data_dir + "/plugins", storage::passable_mode}, {copies, storage::passable_mode}}));
  clear_copies(copies);
  loader->look(owner, config, files);
  return loader;
}

Result<std::optional<client::PluginCatalog>> PluginLoader::reload(
    const actor::Owner& owner, const config::AgentConfig& config) {
  const auto files = NOMAD_TRY(find_plugins(directory_));
  const auto is_there = [&files](const std::string& name) {
    return std::ranges::find(files, name, &PluginFile::name) != files.end();
  };
  for (const auto& status : states_->list())  // Of those that had nothing to be started by.
    if (std::ranges::find(loaded_, status.name, &Loaded::name) == loaded_.end())
      states_->forget(status.name);
  has_changed_ = false;
  for (auto each = loaded_.begin(); each != loaded_.end();) {
    if (is_there(each->name)) {
      ++each;
      continue;
    }
    log::info("plugin", "the plugin is gone from the directory, and ends",
              {{"plugin", each->name}, {"path", directory_}});
    leaving_.push_back(std::move(*each));
    each = loaded_.erase(each);
    has_changed_ = true;
  }
  look(owner, config, files);
  states_->wait_for_all(declared_by_);
  return look_again();
}

std::optional<client::PluginCatalog> PluginLoader::look_again() {
  if (!base_) return std::nullopt;
  const auto present = usable();
  for (const auto& each : loaded_)
    has_changed_ = has_changed_ || !is_entered(each, present);
  if (!std::exchange(has_changed_, false)) return std::nullopt;
  return enter_all();
}

/// Starts what is new among the files, and sees to what is known already.
void PluginLoader::look(const actor::Owner& owner,
                        const config::AgentConfig& config,
                        const std::vector<PluginFile>& files) {
  auto blocks = config.plugin_blocks;
  for (const auto& file : files) {
    const auto block = blocks.extract(file.name);
    auto settings = block.empty() ? config::PluginBlock{} : block.mapped();
    const auto read = read_token(config, file.name, settings);
    if (!file.older.empty())
      log::info("plugin", "two files are the plugin's: the newer one is used",
                {{"plugin", file.name}, {"path", file.path}, {"previous", file.older}});
    const auto known = std::ranges::find(loaded_, file.name, &Loaded::name);
    if (known != loaded_.end()) {
      if (read)
        reconfigure(config, *known, file, settings);
      else
        log::error("plugin", "the plugin stays as it was",
                   {{"plugin", known->name}, {"error", read.error()}});
      continue;
    }
    states_->update(file.name, [&](PluginStatus& status) {
      status.path = file.path;
      status.isolated = settings.isolated;
      status.since = wall_clock();
    });
    const auto started = read ? start(owner, config, file, settings) : read;
    if (!started) refuse(file.name, started.error().what);
  }
  refuse_absent(blocks);
  auto patience = options_.patience.declaration;
  for (const auto& each : loaded_)
    patience = std::max(patience, each.patience);
  // The links give up a moment earlier, each by itself.
  declared_by_ = std::chrono::steady_clock::now() + patience + 500ms;
}

Result<> PluginLoader::start(const actor::Owner& owner,
                             const config::AgentConfig& config,
                             const PluginFile& file,
                             const config::PluginBlock& settings) {
  if (!loop_) {
    loop_ = std::make_shared<PluginLoop>();
    loop_->start();
  }
  const auto copy = NOMAD_TRY(take_file(file, config, settings));
  auto peer = NOMAD_TRY(peer_of(loop_, file, copy, config, settings, options_.programs));
  LinkOptions link{.name = file.name,
                   .make_peer = std::move(peer),
                   .config = settings.config,
                   .locations = settings.locations,
                   .api = {settings.api, settings.token},
                   .data_dir = directory_of(config, file.name),
                   .node = config.name,
                   .has_client = config.client.enabled,
                   .has_server = config.server.enabled,
                   .api_turns = loop_->turns(),
                   .states = states_,
                   .facts = std::make_shared<PluginFacts>(),
                   .metrics = options_.metrics,
                   .job_types = options_.job_types,
                   .providers = options_.providers,
                   .unix_now = wall_clock,
                   .patience = options_.patience};
  NOMAD_TRY(keep_user(file.name, settings));
  if (is_nomad_plugin(file))
    link.patience.declaration
        = std::max<std::chrono::nanoseconds>(link.patience.declaration, nomad_declaration);
  const auto patience = link.patience.declaration;
  auto facts = link.facts;
  loaded_.push_back({file.name, settings, file.path, copy,
                     spawn_plugin_link(owner, std::move(link)), std::move(facts), patience});
  if (served_) actor::tell(loaded_.back().link, plugin_link::Serve{*served_});
  return {};
}

/// Lets a plugin that is loaded go on with its file and its block, if one of them is another one,
/// or it was refused.
void PluginLoader::reconfigure(const config::AgentConfig& config,
                               Loaded& known,
                               const PluginFile& file,
                               const config::PluginBlock& settings) {
  const bool is_refused = states_->state_of(known.name) == PluginState::refused;
  const bool is_same
      = file.path == known.path && file.refusal.empty() && known.copy->is_of(file.path);
  if (is_same && !is_refused && known.settings == settings) return;
  const auto keeps = [&](const Error& err) {
    log::error("plugin",
               is_same ? "the plugin keeps its configuration" : "the plugin keeps its version",
               {{"plugin", known.name}, {"error", err}});
  };
  auto copy = take_file(file, config, settings);
  if (!copy) return keeps(copy.error());
  auto peer = peer_of(loop_, file, *copy, config, settings, options_.programs);
  if (!peer) return keeps(peer.error());
  plugin_link::Reconfigure order{
      std::move(*peer), settings.config, settings.locations, {settings.api, settings.token}, {}};
  if (base_)
    order.check = [catalog = catalog_without(known.name), link = known.link,
                   facts = known.facts](schema::plugin::Declaration::Reader says) -> Result<> {
      NOMAD_TRY(with_plugin(catalog, says, link, facts));
      return {};
    };
  auto outcome = keep_user(file.name, settings);
  if (!outcome) return keeps(outcome.error());
  actor::BlockingAsker self{*system_};
  self.request(known.link, upgrade_patience, std::move(order))
      .receive([](const plugin_link::Reconfigured&) {},
               [&outcome](const Error& err) { outcome = err; });
  if (!outcome) {
    static_cast<void>(keep_user(file.name, known.settings));
    return keeps(outcome.error());
  }
  known.settings = settings;
  known.path = file.path;
  known.copy = std::move(*copy);
  known.entered = {};  // What its drivers can do may be something else, too.
  states_->update(known.name, [&](PluginStatus& status) {
    status.path = file.path;
    status.isolated = settings.isolated;
  });
}

/// What it may do by the agent's ports is what it may do by its link.
Result<> PluginLoader::keep_user(const std::string& name,
                                 const config::PluginBlock& settings) const {
  if (settings.user.empty() || !options_.kept_users) return {};
  const auto user = NOMAD_TRY(host::find_user(settings.user));
  return options_.kept_users->keep(name, user.uid, settings.api);
}

/// What the others bring.
client::PluginCatalog PluginLoader::catalog_without(const std::string& name) const {
  auto catalog = *base_;
  for (const auto& each : loaded_)
    if (each.name != name && each.entered)
      if (auto wider = with_plugin(catalog, *each.entered, each.link, each.facts))
        catalog = std::move(*wider);
  return catalog;
}

/// What those say of themselves that have said it and are not refused.
PluginLoader::Declarations PluginLoader::usable() const {
  Declarations all;
  for (const auto& status : states_->list())
    if (status.state != PluginState::refused && status.declaration)
      all.emplace(status.name, status.declaration);
  return all;
}

/// Whether the catalog has of the plugin what is usable.
bool PluginLoader::is_entered(const Loaded& each, const Declarations& present) {
  const auto says = present.find(each.name);
  if (says == present.end()) return !each.entered;
  return each.entered && each.entered.is_same(says->second);
}

void PluginLoader::refuse(const std::string& name, const std::string& problem) {
  log::error("plugin", "the plugin is refused", {{"plugin", name}, {"error", problem}});
  states_->update(name, [&](PluginStatus& status) {
    status.state = PluginState::refused;
    status.problem = problem;
    status.since = wall_clock();
  });
}

/// Blocks of the configuration that no file belongs to.
void PluginLoader::refuse_absent(const std::map<std::string, config::PluginBlock>& blocks) {
  for (const auto& [name, block] : blocks) {
    if (std::ranges::find(loaded_, name, &Loaded::name) != loaded_.end()) continue;
    const auto location = block.locations.find("");
    refuse(name, fmt::format("{}: no file of {} has its name",
                             location == block.locations.end() ? std::string{"the configuration"}
                                                               : location->second,
                             directory_));
  }
}

PluginLoader::~PluginLoader() {
  stop();
}

void PluginLoader::enter(client::PluginCatalog& catalog) {
  catalog.providers = options_.providers;
  base_ = catalog;
  states_->wait_for_all(declared_by_);
  catalog = enter_all();
}

client::PluginCatalog PluginLoader::enter_all() {
  auto catalog = *base_;
  const auto present = usable();
  for (auto& each : loaded_) {
    const auto says = present.find(each.name);
    each.entered = says == present.end() ? Object<schema::plugin::Declaration>{} : says->second;
    if (!each.entered) continue;
    auto wider = with_plugin(catalog, *each.entered, each.link, each.facts);
    if (wider) {
      catalog = std::move(*wider);
      continue;
    }
    each.entered = {};
    actor::tell(each.link, plugin_link::Refuse{wider.error().what});
  }
  return catalog;
}

void PluginLoader::close_api() {
  if (!served_) return;
  served_->gate->close();
  for (const auto& each : loaded_)
    actor::tell(each.link, plugin_link::Serve{});
  served_.reset();
}

void PluginLoader::serve(const plugin_link::Serve& how) {
  served_ = how;
  for (const auto& each : loaded_)
    actor::tell(each.link, plugin_link::Serve{how});
}

void PluginLoader::end(std::vector<Loaded> those) {
  actor::BlockingAsker self{*system_};
  for (const auto& each : those)  // All at once; then each is waited for.
    actor::tell(each.link, plugin_link::Stop{});
  for (const auto& each : those)
    self.request(each.link, 3s, plugin_link::Stop{})
        .receive([](plugin_link::Stopped) {},
                 [&each](const Error& err) {
                   log::warn("plugin", "the plugin did not end in order",
                             {{"plugin", each.name}, {"error", err}});
                 });
  for (const auto& each : those)
    actor::kill(each.link);
}

void PluginLoader::end_leaving() {
  auto leaving = std::exchange(leaving_, {});
  std::vector<std::string> names;
  for (const auto& each : leaving)
    names.push_back(each.name);
  end(std::move(leaving));
  for (const auto& name : names)
    if (std::ranges::find(loaded_, name, &Loaded::name) == loaded_.end()) states_->forget(name);
}

void PluginLoader::stop() {
  if (!loop_) return;
  end_leaving();
  end(std::exchange(loaded_, {}));
  loop_->stop_all();
  loop_.reset();
}

}  // namespace nomad::plugin
