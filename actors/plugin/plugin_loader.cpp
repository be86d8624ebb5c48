#include "actors/plugin/plugin_loader.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/plugin/plugin_driver.hpp"
#include "actors/plugin/plugin_hook.hpp"
#include "runtime/base/log.hpp"
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

std::int64_t wall_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

host::NamedFingerprinter plugin_fingerprinter(std::string name,
                                              std::chrono::nanoseconds interval,
                                              const std::shared_ptr<PluginFacts>& facts) {
  const auto period = std::chrono::duration_cast<std::chrono::seconds>(interval);
  return {.name = name,
          .run = [name, facts](const host::FingerprintOptions&, host::NodeFacts& node) -> Result<> {
            for (auto& [key, value] : facts->get(name))
              node.attributes[key] = value;
            return {};
          },
          // What is not known when the node registers is known soon; to look costs nothing.
          .period = std::clamp(period, 1s, 5s)};
}

ProcessOptions process_of(const PluginFile& file,
                          const config::PluginBlock& block,
                          const std::string& host_program,
                          const std::string& directory) {
  ProcessOptions process;
  process.program = host_program;
  process.directory = directory;
  process.memory_bytes = memory_of_plugin;
  if (!file.is_library) process.arguments.emplace_back("--program");
  process.arguments.push_back(file.path);
  process.arguments.insert(process.arguments.end(), block.args.begin(), block.args.end());
  return process;
}

}  // namespace

Result<client::PluginCatalog> with_plugin(client::PluginCatalog catalog,
                                          schema::plugin::Declaration::Reader declaration,
                                          const PluginLink& link,
                                          const std::shared_ptr<PluginFacts>& facts) {
  for (const auto hook : declaration.getHooks()) {
    auto& hooks = hook.getOfAllocation() ? catalog.alloc_hooks : catalog.task_hooks;
    hooks.push_back(plugin_hook(link, hook));
  }
  catalog.task_hooks = NOMAD_TRY(client::in_order(std::move(catalog.task_hooks)));
  catalog.alloc_hooks = NOMAD_TRY(client::in_order(std::move(catalog.alloc_hooks)));
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
  return catalog;
}

Result<std::unique_ptr<PluginLoader>> PluginLoader::load(const actor::Owner& owner,
                                                         const LoaderOptions& options) {
  if (options.config->plugin_dir.empty()) return std::unique_ptr<PluginLoader>{};
  std::unique_ptr<PluginLoader> loader{new PluginLoader{owner.system()}};
  const auto files = NOMAD_TRY(find_plugins(options.config->plugin_dir));
  auto blocks = options.config->plugin_blocks;
  for (const auto& file : files) {
    const auto block = blocks.extract(file.name);
    const auto settings = block.empty() ? config::PluginBlock{} : block.mapped();
    auto problem = file.refusal;
    if (problem.empty() && file.is_library)
      if (const auto mark = check_library(file.path); !mark) problem = mark.error().what;
    loader->board_->update(file.name, [&](PluginStatus& status) {
      status.path = file.path;
      status.isolated = settings.isolated;
      status.since = wall_clock();
    });
    if (problem.empty() && !settings.isolated)
      problem = "isolated = false: this release runs plugins in processes of their own only";
    if (!problem.empty()) {
      log::error("plugin", "plugin {} is refused: {}", file.name, problem);
      loader->board_->update(file.name, [&](PluginStatus& status) {
        status.state = PluginState::refused;
        status.problem = problem;
      });
      continue;
    }
    NOMAD_TRY(loader->start(owner, options, file, settings));
  }
  loader->refuse_absent(blocks, options.config->plugin_dir);
  // The links give up a moment earlier, each by itself.
  loader->board_->wait_for_all(std::chrono::steady_clock::now() + options.patience.declaration
                               + 500ms);
  return loader;
}

Result<> PluginLoader::start(const actor::Owner& owner,
                             const LoaderOptions& options,
                             const PluginFile& file,
                             const config::PluginBlock& settings) {
  const auto& config = *options.config;
  const auto directory = fmt::format("{}/plugins/{}", config.data_dir, file.name);
  NOMAD_TRY(storage::make_private_directory(config.data_dir + "/plugins"));
  NOMAD_TRY(storage::make_private_directory(directory));
  if (!loop_) {
    loop_ = std::make_shared<PluginLoop>();
    loop_->start();
  }
  const auto process = process_of(file, settings, options.host_program, directory);
  LinkOptions link{
      .name = file.name,
      .make_peer =
          [loop = loop_, process](ProcessEvents events) {
            return std::make_unique<PluginProcess>(loop, process, std::move(events));
          },
      .config = settings.config,
      .places = settings.places,
      .data_dir = directory,
      .node = config.name,
      .has_client = config.client.enabled,
      .has_server = config.server.enabled,
      .post = [loop = loop_](std::function<void()> action) { loop->post(std::move(action)); },
      .board = board_,
      .facts = std::make_shared<PluginFacts>(),
      .metrics = options.metrics,
      .unix_now = wall_clock,
      .patience = options.patience};
  auto facts = link.facts;
  loaded_.push_back({file.name, spawn_plugin_link(owner, std::move(link)), std::move(facts)});
  return {};
}

/// Blocks of the configuration that no file belongs to.
void PluginLoader::refuse_absent(const std::map<std::string, config::PluginBlock>& blocks,
                                 const std::string& directory) {
  for (const auto& [name, block] : blocks) {
    const auto place = block.places.find("");
    log::error("plugin", "{}: plugin \"{}\" is no file of {}",
               place == block.places.end() ? std::string{"the configuration"} : place->second, name,
               directory);
    board_->update(name, [&](PluginStatus& status) {
      status.state = PluginState::refused;
      status.problem = fmt::format("no file of {} has its name", directory);
      status.since = wall_clock();
    });
  }
}

PluginLoader::~PluginLoader() {
  stop();
}

void PluginLoader::enter(client::PluginCatalog& catalog) {
  const auto all = board_->list();
  for (const auto& each : loaded_) {
    const auto status = std::ranges::find(all, each.name, &PluginStatus::name);
    if (status == all.end() || status->state == PluginState::refused || !status->declaration)
      continue;
    auto wider = with_plugin(catalog, *status->declaration, each.link, each.facts);
    if (wider)
      catalog = std::move(*wider);
    else
      actor::tell(each.link, plugin_link::Refuse{wider.error().what});
  }
}

void PluginLoader::close_api() {
  if (!gate_) return;
  gate_->close();
  serve({});
}

void PluginLoader::serve(const plugin_link::Serve& how) {
  gate_ = how.gate;
  for (const auto& each : loaded_)
    actor::tell(each.link, plugin_link::Serve{how});
}

void PluginLoader::stop() {
  if (!loop_) return;
  actor::Outsider self{*system_};
  for (const auto& each : loaded_)  // All at once; then each is waited for.
    actor::tell(each.link, plugin_link::Stop{});
  for (const auto& each : loaded_)
    self.request(each.link, 3s, plugin_link::Stop{})
        .receive([](plugin_link::Stopped) {},
                 [&each](const Error& err) {
                   log::warn("plugin", "plugin {} did not end in order: {}", each.name, err.what);
                 });
  for (const auto& each : loaded_)
    actor::kill(each.link);
  loaded_.clear();
  loop_->stop_all();
  loop_.reset();
}

}  // namespace nomad::plugin
